"""Where axes stand: new, dropped and permuted axes, and blocks of pixels as channels."""

from __future__ import annotations

from collections.abc import Sequence

import jax
from jax import lax

from ..errors import ShapeError
from ._attrs import Shape
from ._axes import normal_axes, normal_axis
from ._facts import Params, ShapeFacts
from ._registry import register


def _infer_expand_dims_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    if out is not None and -len(out) <= p.axis < len(out):
        at = p.axis % len(out)
        s.set("data", (*out[:at], *out[at + 1 :]), because=f"axis={p.axis} and the output is {out}")


@register("expand_dims", infer_shape=_infer_expand_dims_shape)
def expand_dims(data: jax.Array, *, axis: int):
    """data, of any shape, with a new axis of size 1 at position ``axis`` of the result."""
    return lax.expand_dims(data, (normal_axis(axis, data.ndim + 1),))


@register("squeeze")
def squeeze(data: jax.Array, *, axis: Shape | None = None):
    """data, of any shape, without the axes named, which must be of size 1 (None: without all such).

    Where every axis goes, one stays: the result has shape (1,), as MXNet has no scalars.
    """
    ones = tuple(i for i, d in enumerate(data.shape) if d == 1)
    axes = ones if axis is None else normal_axes(axis, data.ndim, "axis")
    if not set(axes) <= set(ones):
        raise ShapeError(f"axis={axis}: not every axis named of data {data.shape} is of size 1")
    shape = tuple(d for i, d in enumerate(data.shape) if i not in axes)
    return lax.reshape(data, shape or (1,))


def _set_permuted_shape(s: ShapeFacts, axes: Sequence[int]) -> None:
    """States that axis i of the output is axis ``axes[i]`` of data."""
    out = s["out0"]
    if out is not None and len(out) == len(axes):
        back = [0] * len(axes)
        for i, axis in enumerate(axes):
            back[axis] = out[i]
        s.set("data", back, because=f"the output is {out}")


def _infer_transpose_shape(s: ShapeFacts, p: Params) -> None:
    box = s["data"] if s["data"] is not None else s["out0"]
    axes = p.axes or tuple(reversed(range(len(box or ()))))
    if sorted(axes) == list(range(len(axes))):
        _set_permuted_shape(s, axes)


@register("transpose", infer_shape=_infer_transpose_shape)
def transpose(data: jax.Array, *, axes: Shape = ()):
    """data, of any shape, with its axes in the order ``axes`` (none given: reversed)."""
    order = axes or tuple(reversed(range(data.ndim)))
    if sorted(order) != list(range(data.ndim)):
        raise ShapeError(
            f"axes={axes}, expected each of 0 to {data.ndim - 1} once: data is {data.shape}"
        )
    return lax.transpose(data, order)


def _swapped_axes(dim1: int, dim2: int, ndim: int) -> list[int]:
    one, two = normal_axis(dim1, ndim, "dim1"), normal_axis(dim2, ndim, "dim2")
    order = list(range(ndim))
    order[one], order[two] = two, one
    return order


def _infer_swapaxes_shape(s: ShapeFacts, p: Params) -> None:
    box = s["data"] if s["data"] is not None else s["out0"]
    if box is not None:
        _set_permuted_shape(s, _swapped_axes(p.dim1, p.dim2, len(box)))


@register("SwapAxis", "swapaxes", infer_shape=_infer_swapaxes_shape)
def swapaxes(data: jax.Array, *, dim1: int = 0, dim2: int = 0):
    """data, of any shape, with axes ``dim1`` and ``dim2`` exchanged."""
    return lax.transpose(data, _swapped_axes(dim1, dim2, data.ndim))


def _infer_depth_to_space_shape(s: ShapeFacts, p: Params) -> None:
    out, b = s["out0"], p.block_size
    if out is not None and len(out) == 4 and b > 0:
        s.set("data", (out[0], out[1] * b * b, out[2] // b, out[3] // b))


def _infer_space_to_depth_shape(s: ShapeFacts, p: Params) -> None:
    out, b = s["out0"], p.block_size
    if out is not None and len(out) == 4 and b > 0:
        s.set("data", (out[0], out[1] // (b * b), out[2] * b, out[3] * b))


@register("depth_to_space", infer_shape=_infer_depth_to_space_shape)
def depth_to_space(data: jax.Array, *, block_size: int):
    """Channels laid out as blocks of pixels.

    data (N, b*b*C, H, W) with b = ``block_size``. Returns (N, C, H*b, W*b), in which
    out[n, c, h*b + i, w*b + j] = data[n, (i*b + j)*C + c, h, w].
    """
    b = block_size
    if data.ndim != 4 or b < 1 or data.shape[1] % (b * b):
        raise ShapeError(
            f"data is {data.shape}, expected (N, C, H, W) with C divisible by {b * b}",
            f"block_size={b}",
        )
    n, c, h, w = data.shape
    blocks = data.reshape(n, b, b, c // (b * b), h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


@register("space_to_depth", infer_shape=_infer_space_to_depth_shape)
def space_to_depth(data: jax.Array, *, block_size: int):
    """Blocks of pixels stacked as channels, the inverse of ``depth_to_space``.

    data (N, C, H*b, W*b) with b = ``block_size``. Returns (N, b*b*C, H, W).
    """
    b = block_size
    if data.ndim != 4 or b < 1 or data.shape[2] % b or data.shape[3] % b:
        raise ShapeError(
            f"data is {data.shape}, expected (N, C, H, W) with H and W divisible by block_size={b}"
        )
    n, c, h, w = data.shape
    blocks = data.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)
