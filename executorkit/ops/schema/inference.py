"""Inference of shapes and element types around one node: the facts that rules read and write."""

import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any

from ...errors import DTypeError, ShapeError
from .attrs import Shape


class Params(dict[str, Any]):
    """The parsed attributes of one operator node, readable as ``p.kernel``."""

    __slots__ = ("_key",)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def key(self) -> tuple[tuple[str, Any], ...]:
        """A hashable form: equal keys mean equal computations."""
        try:
            return self._key
        except AttributeError:
            self._key = tuple(sorted(self.items()))
            return self._key


def merge_shapes(old: Shape | None, new: Iterable[int] | None) -> Shape | None:
    """Merges two partly known shapes (None and 0: unknown); ValueError if they contradict.

    >>> merge_shapes((0, 3), (2, 0))
    (2, 3)
    """
    if new is None:
        return old
    new = tuple([int(d) if isinstance(d, Number) else d for d in new])  # or a symbol
    if old is None or old == new:
        return new
    if len(old) != len(new):
        raise ValueError
    for a, b in zip(old, new, strict=True):
        if a and b and a != b:
            raise ValueError
    return tuple([a or b for a, b in zip(old, new, strict=True)])


def shape_text(shape: Shape | None) -> str:
    """Writes a shape for messages, with question marks for unknown dimensions: ``(?, 3)``."""
    if shape is None:
        return "unknown"
    sizes = ", ".join(str(d or "?") for d in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def is_fully_known(shape: Shape | None) -> typing.TypeGuard[Shape]:
    """Returns True if every dimension of a shape is known."""
    return shape is not None and 0 not in shape


class Facts(dict[str, Any]):
    """The known shapes (or element types) around one node, during inference.

    Keys are the node's input names and ``"out0"``, ``"out1"``, ...; a missing fact reads as None.
    ``set`` adds knowledge and refuses a contradiction with an error whose arguments are the
    problem, its reason and the name of the fact; inference makes the user's message of them.
    """

    __slots__ = ("changed", "op")

    def __init__(self, op: str, facts: Mapping[str, object]) -> None:
        super().__init__(facts)
        self.op = op
        self.changed = False

    def __getitem__(self, name: str) -> Any:
        return self.get(name)


class ShapeFacts(Facts):
    """Shapes around a node: tuples in which 0 is an unknown dimension, or None."""

    __slots__ = ()

    def set(self, name: str, shape: Iterable[int] | None, because: str | None = None) -> None:
        """Adds the known dimensions of ``name``; ignores names that the node does not have."""
        if name not in self:
            return
        old = self[name]
        if shape == old:
            return
        try:
            new = merge_shapes(old, shape)
        except ValueError:
            expected = tuple(shape) if shape is not None else None
            problem = f"{name!r} is {shape_text(old)}, expected {shape_text(expected)}"
            raise ShapeError(problem, because, name) from None
        if new != old:
            self[name] = new
            self.changed = True

    def same(self, *names: str) -> None:
        """States that all named shapes are equal (all names of the node if none is given)."""
        names = names or tuple(self)
        for name in names:
            self.set(names[0], self[name])
        for name in names[1:]:
            self.set(name, self[names[0]])


class TypeFacts(Facts):
    __slots__ = ()

    def set(self, name: str, dtype: str | None, because: str | None = None) -> None:
        """Adds that ``name`` has ``dtype``; ignores inputs that the node does not have."""
        if name not in self or dtype is None:
            return
        old = self[name]
        if old is None:
            self[name] = dtype
            self.changed = True
        elif old != dtype:
            raise DTypeError(f"{name!r} is {old}, expected {dtype}", because, name)

    def same(self, *names: str) -> None:
        """States that all named types are equal (all names of the node if none is given)."""
        names = names or tuple(self)
        first = next((self[n] for n in names if self[n] is not None), None)
        for name in names:
            self.set(name, first)


def normal_axis(axis: int, ndim: int, name: str = "axis") -> int:
    """Counts an axis from the front; a :class:`ShapeError` names the attribute."""
    if not -ndim <= axis < ndim:
        problem = f"{name}={axis}, expected {-ndim} to {ndim - 1}: the input has {ndim} axes"
        raise ShapeError(problem)
    return axis % ndim


def normal_axes(axes: tuple[int, ...], ndim: int, name: str = "axes") -> tuple[int, ...]:
    if not ndim and axes in ((0,), (-1,)):  # as in NumPy, for a number
        return ()
    normal = tuple(normal_axis(a, ndim, name) for a in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{name}={axes} names an axis twice")
    return normal


#: ``rule(shapes, params)`` deduces shapes, see :func:`register`.
InferShape = Callable[[ShapeFacts, Params], None]
#: ``rule(params, shapes)`` states output shapes, see :func:`register`.
OutputShapes = Callable[[Params, tuple[Shape, ...]], tuple[Shape, ...] | None]
#: ``rule(dtypes, params)`` deduces element types.
InferType = Callable[[TypeFacts, Params], None]


def same_dtypes(t: TypeFacts, p: Params) -> None:
    t.same()


def output_dtype(output: str, *inputs: str) -> InferType:
    """Returns the rule of operators whose output type is an attribute, or is fixed: ``output`` is
    the name of either. The named inputs share one type."""

    def rule(t: TypeFacts, p: Params) -> None:
        if inputs:
            t.same(*inputs)
        dtype = p.get(output, output)
        for name in tuple(t):
            if name.startswith("out"):
                t.set(name, dtype)

    return rule


def same_shapes(s: ShapeFacts, p: Params) -> None:
    s.same()


def same_shapes_among(*names: str) -> InferShape:
    return lambda s, p: s.same(*names)


def shape_of_inputs(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...] | None:
    return shapes[:1] if shapes.count(shapes[0]) == len(shapes) else None


def shape_of_data(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    return shapes[:1]


def channel_shapes(s: ShapeFacts, axis: int, *names: str) -> None:
    """States that the arrays named have one entry for each channel, along ``axis`` of data; raises
    :class:`ShapeError` for an axis that data does not have."""
    data = s["data"]
    if data is None:
        return
    if not -len(data) <= axis < len(data):
        raise ShapeError(f"axis {axis} is out of range", because=f"data is {shape_text(data)}")
    axis %= len(data)
    for name in names:
        s.set(name, (data[axis],), because=f"data is {shape_text(data)} and axis={axis}")
        if s[name] is not None:
            s.set("data", (*data[:axis], *s[name], *data[axis + 1 :]))
        data = s["data"]


def dtype_of_first_input(t: TypeFacts, p: Params) -> None:
    t.same(next(iter(t)), "out0")


def same_dtype_among(*names: str, **dtypes: str) -> InferType:
    """Returns the rule of operators where the arrays named have one type; without names, all but
    ``dtypes``, which holds dtypes, or attributes with them."""

    def rule(t: TypeFacts, p: Params) -> None:
        for name, dtype in dtypes.items():
            t.set(name, p.get(dtype, dtype))
        t.same(*(names or (n for n in t if n not in dtypes)))

    return rule


def dtype_or_same(attribute: str) -> InferType:
    """States one type for all, unless an attribute is the type of the output."""

    def rule(t: TypeFacts, p: Params) -> None:
        if p[attribute] is None:
            t.same()
        else:
            t.set("out0", p[attribute])

    return rule


def inputs_with(*names: str, **optional: str) -> Callable[[Params], tuple[str, ...]]:
    """Returns a rule for names of inputs: ``names``, and ``optional`` with a true attribute."""
    return lambda p: (*names, *(name for name, used in optional.items() if p[used]))
