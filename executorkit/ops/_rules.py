"""Rules of shapes and element types that several families share. No jax in here."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ShapeError
from ._facts import Params, ShapeFacts, TypeFacts, shape_text

InferShape = Callable[[ShapeFacts, Params], None]
InferType = Callable[[TypeFacts, Params], None]


def same_dtypes(t: TypeFacts, p: Params) -> None:
    """The rule of most operators: every input and output has one element type."""
    t.same()


def output_dtype(output: str, *inputs: str) -> InferType:
    """A rule for operators whose output type is given: by an attribute's name or a dtype's name.

    Inputs named (default: none) are of one type among themselves.
    """

    def rule(t: TypeFacts, p: Params) -> None:
        if inputs:
            t.same(*inputs)
        dtype = p.get(output, output)
        for name in tuple(t):
            if name.startswith("out"):
                t.set(name, dtype)

    return rule


def same_shapes(s: ShapeFacts, p: Params) -> None:
    """The rule of element-wise operators: every input and output has one shape."""
    s.same()


def channel_shapes(s: ShapeFacts, axis: int, *names: str) -> None:
    """The arrays named have one entry for each channel, channels being ``axis`` of data.

    Raises :class:`ShapeError` for an axis that data does not have.
    """
    data = s["data"]
    if data is None:
        return
    if not -len(data) <= axis < len(data):
        raise ShapeError(f"axis {axis} is out of range", f"data is {shape_text(data)}")
    axis %= len(data)
    for name in names:
        s.set(name, (data[axis],), because=f"data is {shape_text(data)} and axis={axis}")
        if s[name] is not None:
            s.set("data", (*data[:axis], *s[name], *data[axis + 1 :]))
        data = s["data"]


def dtype_of_first_input(t: TypeFacts, p: Params) -> None:
    """The output is of the first input's type; other inputs may be of any."""
    t.same(next(iter(t)), "out0")


def same_dtype_among(*names: str) -> InferType:
    """The arrays named are of one type; others may be of any."""

    def rule(t: TypeFacts, p: Params) -> None:
        t.same(*names)

    return rule
