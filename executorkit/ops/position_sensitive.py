"""Position-sensitive pooling of regions: every bin reads channels of its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import UnitInterval
from ._bins import Bins, pooled_planes, round_away, rounding
from ._facts import Params, ShapeFacts, is_fully_known
from ._registry import register
from ._sampling import bilinear, weighted_rows


def _infer_psroi_shape(s: ShapeFacts, p: Params) -> None:
    groups = p.group_size or p.pooled_size
    s.set("data", (0, p.output_dim * groups**2, 0, 0), because=f"output_dim={p.output_dim}")
    s.set("rois", (0, 5), because="a region is (batch index, x1, y1, x2, y2)")


def _psroi_extent(rois: jax.Array, spatial_scale: float) -> tuple[jax.Array, ...]:
    """First column and row of each region, its width and height, on the scale of data."""
    x1, y1, x2, y2 = (round_away(rois[:, i]).astype(rois.dtype) for i in range(1, 5))
    x1, y1 = x1 * spatial_scale, y1 * spatial_scale
    x2, y2 = (x2 + 1) * spatial_scale, (y2 + 1) * spatial_scale
    return x1, y1, jnp.maximum(x2 - x1, 0.1), jnp.maximum(y2 - y1, 0.1)


def _psroi_bounds(start: jax.Array, extent: jax.Array, count: int, size: int) -> list[jax.Array]:
    """The first of ``size`` rows (or columns) in each of ``count`` bins, and the first behind it:
    (R, count) each.

    Bounds are rounded where MXNet rounds them, because a bin may end just at a row.
    """
    rounded = rounding(start.dtype)
    start, extent = start.astype(jnp.float64)[:, None], extent.astype(jnp.float64)[:, None]
    number = jnp.arange(count, dtype=jnp.float64)
    bin_size = rounded(extent / count)
    first = jnp.floor(rounded(rounded(number * bin_size) + start))
    last = jnp.ceil(rounded(rounded((number + 1) * bin_size) + start))
    return [jnp.clip(bound, 0, size).astype(jnp.int32) for bound in (first, last)]


@register("_contrib_PSROIPooling", infer_shape=_infer_psroi_shape)
def psroi_pooling(
    data: jax.Array,
    rois: jax.Array,
    *,
    spatial_scale: UnitInterval,
    output_dim: int,
    pooled_size: int,
    group_size: int = 0,
):
    """Mean over each of a grid of bins of a region, every bin of other channels.

    data (N, D G G, H, W), floating, D = ``output_dim``, G = ``group_size`` (0: as many as bins);
    rois (R, 5), each (index into N, x1, y1, x2, y2) in pixels of an image that data shows at
    ``spatial_scale``, ends included; returns (R, D, P, P), P = ``pooled_size``: bin (p, q) of
    channel d reads channel (d, p G // P, q G // P) of data. An empty bin gives 0. The gradient of
    rois is zero. Dai et al., R-FCN, 2016.
    """
    rois = lax.stop_gradient(rois)
    height, width = data.shape[2:]
    x, y, extent_x, extent_y = _psroi_extent(rois, spatial_scale)
    down = _psroi_bounds(y, extent_y, pooled_size, height)
    bins = Bins(*down, *_psroi_bounds(x, extent_x, pooled_size, width))
    image = rois[:, 0].astype(jnp.int32)
    total = pooled_planes(data, image, bins, group_size or pooled_size)
    return total / jnp.maximum(bins.area(), 1).astype(data.dtype)[:, None]


def _deformable_psroi_inputs(p: Params) -> tuple[str, ...]:
    return ("data", "rois") if p.no_trans else ("data", "rois", "trans")


def _infer_deformable_psroi_shape(s: ShapeFacts, p: Params) -> None:
    _infer_psroi_shape(s, p)
    part = p.part_size or p.pooled_size
    rois = s["rois"]
    s.set(
        "trans",
        (rois[0] if rois and is_fully_known(rois) else 0, 0, part, part),
        because=f"rois is {rois}",
    )


@register(
    "_contrib_DeformablePSROIPooling",
    inputs=_deformable_psroi_inputs,
    outputs=("output", "top_count"),
    visible=1,
    infer_shape=_infer_deformable_psroi_shape,
)
def deformable_psroi_pooling(
    data: jax.Array,
    rois: jax.Array,
    trans: jax.Array | None = None,
    *,
    spatial_scale: UnitInterval,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
):
    """PSROIPooling whose bins are moved: the mean of bilinear samples in each bin of a region.

    data (N, D G G, H, W), floating, and rois (R, 5) as in PSROIPooling; trans (R, 2 K, T, T), x
    before y, T = ``part_size`` (0: as many as bins), moves the bins of the k-th of K groups of
    channels by ``trans_std`` times the region's width and height; absent with ``no_trans``. Each
    bin takes ``sample_per_part`` samples each way; those more than half a pixel outside are left
    out. Returns (R, D, P, P); hidden behind it is the number of samples of each. The gradient of
    rois is zero. Dai et al., Deformable Convolutional Networks, 2017.
    """
    rois = lax.stop_gradient(rois)
    count, _, height, width = data.shape
    regions, bins, groups = rois.shape[0], pooled_size, group_size
    kinds = 1 if trans is None else trans.shape[1] // 2
    channels = output_dim // kinds
    x, y, extent_x, extent_y = _psroi_extent(rois, spatial_scale)
    x, y = x - 0.5, y - 0.5
    bin_y, bin_x = extent_y / bins, extent_x / bins
    number = jnp.arange(bins, dtype=jnp.int32)
    sample = jnp.arange(sample_per_part, dtype=data.dtype)

    def spots(start: jax.Array, size: jax.Array) -> jax.Array:
        """Positions of samples along one axis before any move: (R, P, S)."""
        first = start[:, None] + number.astype(data.dtype) * size[:, None]
        return first[..., None] + sample * (size / sample_per_part)[:, None, None]

    at_y = spots(y, bin_y)[:, None, :, None, :, None]
    at_x = spots(x, bin_x)[:, None, None, :, None, :]
    if trans is not None:
        parts = part_size or bins
        part = (number * parts) // bins
        moves = trans.reshape(regions, kinds, 2, parts, parts)[:, :, :, part][..., part]
        moves = (moves * trans_std)[..., None, None]
        at_x = at_x + moves[:, :, 0] * extent_x[:, None, None, None, None, None]
        at_y = at_y + moves[:, :, 1] * extent_y[:, None, None, None, None, None]
    shape = regions, kinds, bins, bins, sample_per_part, sample_per_part
    at_y, at_x = jnp.broadcast_to(at_y, shape), jnp.broadcast_to(at_x, shape)
    counts = (at_x >= -0.5) & (at_x <= width - 0.5) & (at_y >= -0.5) & (at_y <= height - 0.5)
    at_y, at_x = jnp.clip(at_y, 0, height - 1), jnp.clip(at_x, 0, width - 1)
    index, weight = bilinear(at_y, at_x, height, width)
    weight = jnp.where(counts[..., None], weight, 0)
    samples = jnp.sum(counts, axis=(4, 5), dtype=data.dtype)

    group = (number * groups) // bins
    plane = (group[:, None] * groups + group).reshape(1, 1, bins, bins)
    kind = jnp.arange(kinds, dtype=jnp.int32)[:, None, None]
    image = rois[:, 0].astype(jnp.int32)[:, None, None, None]
    plane = (image * kinds + kind) * groups**2 + plane
    index = index + (plane * height * width)[..., None, None, None]
    rows = data.reshape(count, kinds, channels, groups, groups, height, width)
    rows = jnp.moveaxis(rows, 2, -1).reshape(-1, channels)
    flat = regions, kinds * bins * bins, 4 * sample_per_part**2
    total = weighted_rows(rows, index.reshape(flat), weight.reshape(flat))
    total = total.reshape(regions, kinds, bins, bins, channels)
    mean = total / jnp.maximum(samples, 1)[..., None]
    shape = regions, output_dim, bins, bins
    counted = jnp.repeat(samples, channels, axis=1)
    return jnp.moveaxis(mean, 4, 2).reshape(shape), lax.stop_gradient(counted)
