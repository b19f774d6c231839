"""Tiling, repetition, reversal and padding of axes, and diagonals."""

from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Shape
from ..schema.channels_last import layout_with_pad_width
from ..schema.inference import Params, ShapeFacts, normal_axes, normal_axis, same_shapes
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA
from ..tracing import at_least
from .binary_arithmetic import scalar_constant


@register("tile", traits={NAMED_DATA})
def tile(data: Array, *, reps: Shape):
    """Repeats data, of any shape, ``reps[i]`` times along axis i.

    The shorter of ``reps`` and data's shape is preceded by ones.
    """
    if any(r < 0 for r in reps):
        raise AttributeValueError(f"reps={reps}, expected no negative numbers")
    return jnp.tile(data, reps)


@register("repeat", traits={NAMED_DATA})
def repeat(data: Array, *, repeats: int, axis: int | None = None):
    """Repeats every entry of ``axis`` of data, of any shape, ``repeats`` times in place.

    With ``axis=None`` data is flattened first, and the result is a vector.
    """
    if repeats < 0:
        raise AttributeValueError(f"repeats={repeats}, expected no negative number")
    if axis is None or not repeats:  # none are a vector, as in MXNet
        return jnp.repeat(data.reshape(-1), repeats)
    return jnp.repeat(data, repeats, normal_axis(axis, data.ndim))


@register("reverse", "flip", infer_shape=same_shapes, traits={NAMED_DATA})
def reverse(data: Array, *, axis: Shape):
    """Reverses data, of any shape, along every axis named."""
    return lax.rev(data, normal_axes(axis, data.ndim, "axis"))


def _infer_pad_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    if out is not None and len(p.pad_width) == 2 * len(out):
        added = [a + b for a, b in zip(p.pad_width[::2], p.pad_width[1::2], strict=True)]
        s.set("data", (d and d - a for d, a in zip(out, added, strict=True)))


@register(
    "Pad",
    "pad",
    infer_shape=_infer_pad_shape,
    layout_rule=layout_with_pad_width,
    traits={NAMED_DATA},
    kind="shape",
)
def pad(
    data: Array,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: Shape,
    constant_value: float = 0.0,
):
    """Pads data before and after the entries of each axis.

    data may have any shape and dtype (in MXNet 4 or 5 axes, the first two of them not padded, and a
    floating dtype); ``pad_width`` is (before0, after0, before1, after1, ...). New entries are
    ``constant_value``, converted as other operators convert a number, or with ``edge`` the nearest
    entry, or with ``reflect`` the entries mirrored at the nearest one, of which there must be
    enough.
    """
    if len(pad_width) != 2 * data.ndim:
        problem = f"pad_width={pad_width} has not two entries for each axis of data {data.shape}"
        raise ShapeError(problem)
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if mode == "constant":
        value = scalar_constant(constant_value, data.dtype)
        return lax.pad(data, value, [(before, after, 0) for before, after in widths])
    if min(pad_width) < 0:
        raise AttributeValueError(f"pad_width={pad_width} has negative entries")
    if mode == "reflect" and any(max(w) >= d for w, d in zip(widths, data.shape, strict=True)):
        raise ShapeError(f"data {data.shape} has too few entries to reflect, pad_width={pad_width}")
    return jnp.pad(data, widths, mode)


@register("diag", traits={NAMED_DATA})
def diag(data: Array, *, k: int = 0, axis1: int = 0, axis2: int = 1):
    """Extracts diagonal ``k`` of matrices, or makes a matrix with that diagonal.

    data (n,) gives the matrix (n + abs(k), n + abs(k)) with data on its diagonal ``k``, zeros
    elsewhere. Of data with more axes, ``axis1`` and ``axis2`` are rows and columns of matrices;
    their diagonals are the last axis of the result, after the other axes.
    """
    if data.ndim == 1:
        return jnp.diag(data, k)
    first, second = normal_axis(axis1, data.ndim, "axis1"), normal_axis(axis2, data.ndim, "axis2")
    if first == second:
        raise ShapeError(f"axis1={axis1} and axis2={axis2} are the same axis of data {data.shape}")
    rows, columns = data.shape[first], data.shape[second]
    lengths = rows + min(k, 0), columns - max(k, 0)
    if not all(at_least(length, 1, otherwise=True) for length in lengths):
        raise ShapeError(f"matrices of {rows} x {columns} have no diagonal k={k}")
    return jnp.diagonal(data, k, first, second)
