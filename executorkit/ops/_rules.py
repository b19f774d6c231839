"""Rules of shapes and element types that several families share. No jax in here."""

from __future__ import annotations

from collections.abc import Callable

from ._facts import Params, ShapeFacts, TypeFacts

Fill = Callable[[ShapeFacts, Params], None]
Types = Callable[[TypeFacts, Params], None]


def same_types(t: TypeFacts, p: Params) -> None:
    """The rule of most operators: every input and output has one element type."""
    t.same()


def typed(output: str, *inputs: str) -> Types:
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


def first_decides(t: TypeFacts, p: Params) -> None:
    """The output is of the first input's type; other inputs may be of any."""
    t.same(next(iter(t)), "out0")


def alike(*names: str) -> Types:
    """The arrays named are of one type; others may be of any."""

    def rule(t: TypeFacts, p: Params) -> None:
        t.same(*names)

    return rule
