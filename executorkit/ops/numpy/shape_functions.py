"""Shapes, orders of axes, joined and repeated arrays. Elements only move, and are copied."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape
from ..schema.inference import Params, TypeFacts, normal_axes, normal_axis
from ..schema.operator_registry import NUMPY_OPS, lookup, named
from ..tensor.join import concat, split_v2
from .promotion import numpy_operator


def _fitting(source: Shape, target: Sequence[int], spec: Sequence[int]) -> Shape:
    if target.count(-1) > 1:
        raise AttributeValueError(f"newshape={tuple(spec)} has more than one -1")
    size, known = math.prod(source), math.prod(d for d in target if d != -1)
    whole = tuple(size // known if d == -1 and known else d for d in target)
    if -1 in whole or math.prod(whole) != size:
        problem = f"an array of shape {source} cannot be reshaped into {tuple(spec)}"
        raise ShapeError(problem)
    return whole


def _reshaped(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape]:
    if any(d < -1 for d in p.newshape):
        raise ShapeError(f"newshape={p.newshape}: lengths are not below -1")
    return (_fitting(shapes[0], p.newshape, p.newshape),)


@numpy_operator("_np_reshape", output_shapes=_reshaped, kind="shape")
def reshape(a: Array, *, newshape: Shape, order: str = "C") -> Array:
    """Gives a, of any shape, the shape ``newshape``, of which one length may be -1. ``order`` is
    'C'."""
    if order != "C":
        raise AttributeValueError(f"order={order!r}, expected 'C'")
    return lax.reshape(a, *_reshaped(Params(newshape=newshape), (a.shape,)))


def _coded_shape(source: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    target: list[int] = []
    rest = list(source)

    def take() -> int:
        if not rest:
            raise ShapeError(f"newshape={tuple(spec)} uses more axes than {tuple(source)} has")
        return rest.pop(0)

    entries = list(spec)
    while entries:
        entry = entries.pop(0)
        if entry == -2:
            target.append(take())
        elif entry == -3:
            if take() != 1:
                raise ShapeError(f"newshape={tuple(spec)}: -3 drops an axis of length 1 only")
        elif entry == -4:
            target += rest
            rest = []
        elif entry == -5:
            target.append(take() * take())
        elif entry == -6:
            length, first, second = take(), *entries[:2]
            entries = entries[2:]
            target += _fitting((length,), (first, second), spec)
        elif entry >= -1:
            target.append(entry)
            rest = rest[1:]
        else:
            raise AttributeValueError(f"newshape={tuple(spec)}: {entry} has no meaning")
    return _fitting(tuple(source), target, spec)


@numpy_operator("_npx_reshape", kind="shape")
def coded_reshape(a: Array, *, newshape: Shape, reverse: bool = False, order: str = "C") -> Array:
    """Gives a, of any shape, a new shape, read from left to right (``reverse``: right to left).

    A length of ``newshape`` is itself; -1 follows from the others; -2 keeps an axis; -3 drops one
    of length 1; -4 keeps all that remain; -5 joins two; -6 splits one into the two lengths that
    follow.
    """
    way = -1 if reverse else 1
    entries = iter(newshape)
    groups = [(d, *(next(entries), next(entries))[::way]) if d == -6 else (d,) for d in entries]
    spec = [d for group in groups[::way] for d in group]
    return lax.reshape(a, _coded_shape(a.shape[::way], spec)[::way])


NUMPY_OPS["_npi_reshape"] = NUMPY_OPS["_npx_reshape"]


@numpy_operator("_np_squeeze", kind="shape")
def squeeze(a: Array, *, axis: Shape | None = None) -> Array:
    """Drops the axes of a, of any shape, that have length 1, or those in ``axis``."""
    axes = normal_axes(axis, a.ndim, "axis") if axis is not None else None
    if axes is None:
        axes = tuple(i for i, d in enumerate(a.shape) if d == 1)
    if any(a.shape[i] != 1 for i in axes):
        raise ShapeError(f"axis={axis}: an axis of {a.shape} is not of length 1")
    return lax.squeeze(a, axes)


def _order(axes: Shape | None, ndim: int) -> tuple[int, ...]:
    if not axes:
        return tuple(reversed(range(ndim)))
    if len(axes) != ndim:
        raise ShapeError(f"axes={axes} for an array of {ndim} axes")
    return normal_axes(axes, ndim, "axes")


@numpy_operator(
    "_np_transpose",
    output_shapes=lambda p, s: (tuple(s[0][i] for i in _order(p.axes, len(s[0]))),),
    kind="shape",
)
def transpose(a: Array, *, axes: Shape | None = None) -> Array:
    """Permutes the axes of a, of any shape, into the order ``axes`` (None: reversed)."""
    return lax.transpose(a, _order(axes, a.ndim))


@numpy_operator("_np_moveaxis", kind="shape")
def moveaxis(a: Array, *, source: Shape, destination: Shape) -> Array:
    """Moves axes of a, of any shape, from ``source`` to ``destination``."""
    normal_axes(source, a.ndim, "source")
    normal_axes(destination, a.ndim, "destination")
    return jnp.moveaxis(a, source, destination)


@numpy_operator("_np_roll")
def roll(data: Array, *, shift: Shape | None = None, axis: Shape | None = None) -> Array:
    """Shifts elements of data, of any shape, along ``axis`` (None: of all elements in order); those
    beyond the end come first."""
    steps = shift or (0,)
    return jnp.roll(data, steps if axis is not None else steps[0], axis)


@numpy_operator("_npi_rot90")
def rot90(data: Array, *, k: int = 1, axes: Shape | None = None) -> Array:
    """Rotates data, of two axes or more, by 90 degrees ``k`` times, in the plane of ``axes``."""
    first, second = axes or (0, 1)
    return jnp.rot90(data, k, (first, second))


@numpy_operator("_npi_flip")
def flip(data: Array, *, axis: Shape) -> Array:
    """Reverses data, of any shape, along ``axis``."""
    return lax.rev(data, normal_axes(axis, data.ndim, "axis"))


@numpy_operator("_npi_broadcast_to")
def broadcast_to(array: Array, *, shape: Shape = ()) -> Array:
    """Repeats array, of any shape, along axes of length 1, and new leading ones, to ``shape``."""
    return jnp.broadcast_to(array, shape)


def _at_least(n: int, fn: Callable[..., Array | list[Array]]) -> Callable[..., tuple[Array, ...]]:
    def op(*arys: Array, num_args: int) -> tuple[Array, ...]:
        return tuple(fn(x) for x in arys)  # type: ignore[misc]

    doc = f"Gives each of ``num_args`` arrays, of any shapes, {n} axes at least."
    return named(op, f"_np_atleast_{n}d", doc)


def _each_typed(t: TypeFacts, p: Params) -> None:
    for i in range(p.num_args):
        t.set(f"out{i}", t[f"arg{i}"])


for _n, _fn in ((1, jnp.atleast_1d), (2, jnp.atleast_2d), (3, jnp.atleast_3d)):
    numpy_operator(
        f"_np_atleast_{_n}d",
        outputs=lambda p: tuple(f"output{i}" for i in range(p.num_args)),
        infer_type=_each_typed,
    )(_at_least(_n, _fn))


@numpy_operator("_npi_concatenate")
def concatenate(*data: Array, num_args: int, axis: int | None = 0, dim: int | None = None) -> Array:
    """Joins ``num_args`` arrays along ``axis``, in which alone they differ (None: all elements in
    order). ``dim`` is another name of it."""
    if axis is None:
        return jnp.concatenate([x.reshape(-1) for x in data])
    return concat(*data, num_args=num_args, dim=axis if dim is None else dim)


@numpy_operator("_npi_stack")
def stack(*data: Array, axis: int = 0, num_args: int) -> Array:
    """Joins ``num_args`` arrays of one shape along a new axis."""
    if any(x.shape != data[0].shape for x in data):
        raise ShapeError(f"the shapes {[x.shape for x in data]} differ")
    axis = normal_axis(axis, data[0].ndim + 1)
    return lax.concatenate([lax.expand_dims(x, (axis,)) for x in data], axis)


def _joined(name: str, fn: Callable[..., Array], words: str) -> Callable[..., Array]:
    def op(*data: Array, num_args: int, dim: int = 1) -> Array:
        return fn(data)

    doc = f"Joins ``num_args`` arrays {words}, of equal shapes otherwise. ``dim`` has no effect."
    return named(op, f"_npi_{name}", doc)


for _name, _fn, _words in (
    ("vstack", jnp.vstack, "along the first axis, vectors as rows"),
    ("hstack", jnp.hstack, "along the second axis, vectors along their own"),
    ("dstack", jnp.dstack, "along the third axis"),
    ("column_stack", jnp.column_stack, "as columns"),
):
    numpy_operator(f"_npi_{_name}")(_joined(_name, _fn, _words))


@numpy_operator("_np_diag")
def diag(data: Array, *, k: int = 0) -> Array:
    """Extracts diagonal ``k`` of a matrix, or makes the matrix of that diagonal from a vector."""
    if data.ndim not in (1, 2):
        raise ShapeError(f"data is {data.shape}, expected a vector or a matrix")
    return jnp.diag(data, k)


@numpy_operator("_np_diagflat")
def diagflat(data: Array, *, k: int = 0) -> Array:
    """Makes a matrix with the elements of data, of any shape, on diagonal ``k``."""
    return jnp.diagflat(data, k)


@numpy_operator("_np_diagonal")
def diagonal(data: Array, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Extracts the diagonals of the matrices on two axes of data, along a new last axis."""
    return jnp.diagonal(data, offset, axis1, axis2)


@numpy_operator("_np_trace")
def trace(data: Array, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Sums the diagonals of the matrices on two axes of data, of two axes or more."""
    return jnp.sum(jnp.diagonal(data, offset, axis1, axis2), -1, dtype=data.dtype)


@numpy_operator("_npi_tril")
def tril(data: Array, *, k: int = 0) -> Array:
    """Sets the elements of matrices (..., m, n) above diagonal ``k`` to 0; of a vector (n,) as the
    rows of a matrix."""
    return jnp.tril(jnp.broadcast_to(data, (data.size,) * 2) if data.ndim == 1 else data, k)


@numpy_operator("_npi_pad")
def pad(
    data: Array, *, pad_width: tuple[Shape, ...],
    mode: Literal["constant", "edge", "maximum", "minimum", "reflect", "symmetric"] = "constant",
    constant_value: float = 0.0, reflect_type: str = "even",
) -> Array:  # fmt: skip
    """Adds elements before and behind each axis of data, of any shape: ``pad_width`` has a pair for
    each axis, ``mode`` says what they are."""
    options = {"constant_values": constant_value} if mode == "constant" else {}
    widths = [w if len(w) == 2 else w * 2 for w in pad_width]
    widths = widths * data.ndim if len(widths) == 1 else widths
    return jnp.pad(data, widths, mode, **options).astype(data.dtype)


def _split_along(axis: int) -> Callable[..., tuple[Array, ...]]:
    return lambda data, **attrs: split_v2(data, **{**attrs, "axis": min(axis, data.ndim - 1)})


_split = lookup("_split_v2")
assert _split is not None
for _name, _axis in (("_npi_hsplit", 1), ("_npi_dsplit", 2)):
    NUMPY_OPS[_name] = replace(_split, name=_name, names=(_name,), fn=_split_along(_axis))
