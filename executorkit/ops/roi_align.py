"""Regions of interest by bilinear interpolation: ROIAlign, upright and rotated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ShapeError
from ._attrs import Shape, UnitInterval
from ._bins import Bins, pooled_planes, support
from ._facts import Params, ShapeFacts
from ._registry import register
from ._sampling import bilinear, pooled_regions, weighted_rows


def _infer_roi_shape(numbers: int):
    def infer_shape(s: ShapeFacts, p: Params) -> None:
        s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
        s.set("rois", (0, numbers), because=f"a region has {numbers} numbers")

    return infer_shape


def _sample_counts(size: jax.Array, bins: int, ratio: int) -> jax.Array:
    """How many samples a bin of each region takes along one axis."""
    if ratio > 0:
        return jnp.full(size.shape, ratio, jnp.int32)
    return jnp.ceil(size / bins).astype(jnp.int32)


def _is_outside(at: jax.Array, size: int) -> jax.Array:
    """Positions that count as 0; others next to the image read its border."""
    return (at < -1) | (at > size)


def _bin_weights(
    start: jax.Array, extent: jax.Array, bins: int, size: int, ratio: int
) -> jax.Array:
    """Weight of every row (or column) in the mean of the samples of each bin: (R, bins, size)."""
    bin_size = (extent / bins)[:, None]
    count = _sample_counts(extent, bins, ratio)[:, None]
    first = start[:, None] + jnp.arange(bins, dtype=start.dtype) * bin_size
    rows = jnp.arange(size, dtype=start.dtype)

    def add(turn: jax.Array, total: jax.Array) -> jax.Array:
        at = first + (turn.astype(start.dtype) + 0.5) * bin_size / count
        counts = (turn < count) & ~_is_outside(at, size)
        at = jnp.clip(at, 0, size - 1)[..., None]
        near = jnp.maximum(1 - jnp.abs(at - rows), 0)
        return total + jnp.where(counts[..., None], near, 0)

    empty = jnp.zeros((*first.shape, size), start.dtype)
    total = lax.fori_loop(jnp.int32(0), jnp.max(count, initial=0), add, empty)
    return total / jnp.maximum(count, 1)[..., None]


@register("_contrib_ROIAlign", infer_shape=_infer_roi_shape(5))
def roi_align(
    data: jax.Array,
    rois: jax.Array,
    *,
    pooled_size: Shape,
    spatial_scale: UnitInterval,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
):
    """Mean of bilinear samples in each of a grid of bins, for each region of interest.

    data (N, C, H, W), floating; rois (R, 5), each (index into N, x1, y1, x2, y2) in pixels of an
    image that data shows at ``spatial_scale``; returns (R, C, P, Q), P, Q = ``pooled_size``. Each
    bin takes ``sample_ratio`` samples each way, or as many as it is long (rounded up). Samples more
    than a pixel outside count as 0. ``aligned`` moves regions by half a pixel and takes them as
    small as they are; otherwise they are at least one pixel wide and high. With
    ``position_sensitive``, C = D P Q, the result is (R, D, P, Q), and each bin reads its own
    channel. A negative index gives zeros (undefined in MXNet). The gradient of rois is zero. He et
    al., Mask R-CNN, 2017.
    """
    rois = lax.stop_gradient(rois)
    (bins_y, bins_x), (height, width) = pooled_size, data.shape[2:]
    if position_sensitive and (bins_y != bins_x or data.shape[1] % (bins_y * bins_x)):
        raise ShapeError(
            f"position_sensitive divides {data.shape[1]} channels among pooled_size={pooled_size}, "
            "which has to be square and to divide them"
        )
    x1, y1, x2, y2 = (rois[:, i] * spatial_scale - (0.5 if aligned else 0.0) for i in range(1, 5))
    extent_x, extent_y = x2 - x1, y2 - y1
    if not aligned:
        extent_x, extent_y = jnp.maximum(extent_x, 1), jnp.maximum(extent_y, 1)
    down = _bin_weights(y1, extent_y, bins_y, height, sample_ratio)
    across = _bin_weights(x1, extent_x, bins_x, width, sample_ratio)
    image = rois[:, 0].astype(jnp.int32)
    down = jnp.where((image >= 0)[:, None, None], down, 0)
    image = jnp.maximum(image, 0)
    if position_sensitive:
        bins = Bins(*support(down), *support(across))
        return pooled_planes(data, image, bins, bins_y, down, across)
    return pooled_regions(data, image, down, across)


@register("_contrib_RROIAlign", infer_shape=_infer_roi_shape(6))
def rroi_align(
    data: jax.Array,
    rois: jax.Array,
    *,
    pooled_size: Shape,
    spatial_scale: UnitInterval,
    sampling_ratio: int = -1,
):
    """Mean of bilinear samples in each of a grid of bins, for each rotated region of interest.

    data (N, C, H, W), floating; rois (R, 6), each (index into N, x, y of the middle, width, height,
    angle in degrees, clockwise in the picture) in pixels of an image that data shows at
    ``spatial_scale``; returns (R, C, *pooled_size). Sampling is that of ROIAlign. (MXNet has no
    gradient; here data has the derivative, and that of rois is zero.) Ma et al., 2018.
    """
    rois = lax.stop_gradient(rois)
    (bins_y, bins_x), (count, channels, height, width) = pooled_size, data.shape
    rows = jnp.moveaxis(data, 1, 3).reshape(-1, channels)

    def size(rois: jax.Array) -> tuple[jax.Array, ...]:
        """Of each region: width and height, and how many samples a bin takes down and across."""
        across, down = (jnp.maximum(rois[:, i] * spatial_scale, 1) for i in (3, 4))
        turns = (
            _sample_counts(down, bins_y, sampling_ratio),
            _sample_counts(across, bins_x, sampling_ratio),
        )
        return across, down, *turns

    def spot(number: jax.Array, extent: jax.Array, bins: int, turn: jax.Array, of: jax.Array):
        """Positions along one axis of the region, from its middle: (R, bins)."""
        bin_size = (extent / bins)[:, None]
        within = (turn.astype(data.dtype) + 0.5)[:, None] * bin_size / of[:, None]
        return number.astype(data.dtype) * bin_size - extent[:, None] / 2 + within

    def sampled(turn: jax.Array, rows: jax.Array, rois: jax.Array) -> jax.Array:
        """The sample of each bin in one turn: (R, P Q, C)."""
        across, down, turns_y, turns_x = size(rois)
        x, y = (rois[:, i, None, None] * spatial_scale for i in (1, 2))
        angle = rois[:, 5, None, None] * (jnp.pi / 180)
        image = jnp.clip(rois[:, 0].astype(jnp.int32), 0, count - 1)
        v = spot(jnp.arange(bins_y), down, bins_y, turn // turns_x, turns_y)[:, :, None]
        u = spot(jnp.arange(bins_x), across, bins_x, turn % turns_x, turns_x)[:, None]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        at_x = u * cos + v * sin + x
        at_y = v * cos - u * sin + y
        counts = (turn < turns_y * turns_x)[:, None, None]
        counts &= ~_is_outside(at_y, height) & ~_is_outside(at_x, width)
        at_y, at_x = jnp.clip(at_y, 0, height - 1), jnp.clip(at_x, 0, width - 1)
        index, weight = bilinear(at_y, at_x, height, width)
        index += (image * height * width)[:, None, None, None]
        weight = jnp.where(counts[..., None], weight, 0)
        flat = len(rois), bins_y * bins_x, 4
        return weighted_rows(rows, index.reshape(flat), weight.reshape(flat))

    def over_turns(one, rois: jax.Array, start: jax.Array) -> jax.Array:
        _, _, turns_y, turns_x = size(rois)
        most = jnp.max(turns_y * turns_x, initial=0)
        return lax.fori_loop(jnp.int32(0), most, lambda turn, total: total + one(turn), start)

    # Everything that ``back`` reads is an argument or kept: it may run in a program of its own.
    @jax.custom_vjp
    def total(rows: jax.Array, rois: jax.Array) -> jax.Array:
        empty = jnp.zeros((len(rois), bins_y * bins_x, channels), data.dtype)
        return over_turns(lambda turn: sampled(turn, rows, rois), rois, empty)

    def back(rois: jax.Array, head: jax.Array) -> tuple[jax.Array, None]:
        empty = jnp.zeros((count * height * width, channels), data.dtype)

        def one(turn: jax.Array) -> jax.Array:
            return jax.vjp(lambda rows: sampled(turn, rows, rois), empty)[1](head)[0]

        return over_turns(one, rois, empty), None

    total.defvjp(lambda rows, rois: (total(rows, rois), rois), back)
    _, _, turns_y, turns_x = size(rois)
    mean = total(rows, rois) / jnp.maximum(turns_y * turns_x, 1)[:, None, None]
    return jnp.moveaxis(mean, 2, 1).reshape(len(rois), channels, bins_y, bins_x)
