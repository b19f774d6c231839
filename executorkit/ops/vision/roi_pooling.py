"""Pooling of regions of interest: maxima, aligned and rotated samples, position-sensitive means."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Shape, UnitInterval
from ..schema.inference import Params, ShapeFacts, is_fully_known
from ..schema.operator_registry import FileFormat, register
from ..tensor.reverse_rules import linear_in_first, with_vjp
from .bilinear_sampling import bilinear, pooled_regions, weighted_rows
from .region_bins import Bins, join_blocks, pooled_planes, round_away, rounding, support, to_blocks


def _infer_roi_pooling_shape(s: ShapeFacts, p: Params) -> None:
    s.set("data", (0, 0, 0, 0), because="ROIPooling takes (N, C, H, W)")
    s.set("rois", (0, 5), because="a region is (batch index, x1, y1, x2, y2)")


def _roi_pooling_bounds(
    first: Array, last: Array, count: int, size: int, dtype: jnp.dtype
) -> tuple[Array, Array]:
    # MXNet's bounds are products rounded to the dtype, which is off by one for a few sizes (31 rows
    # in 7 bins). XLA replaces a division by a constant with a product, which is off for others; so
    # everything is computed in double precision and rounded to the dtype where MXNet rounds. Starts
    # and (excluded) stops are (R, count) each, within [0, ``size``].
    rounded = rounding(dtype)
    bin_size = rounded(jnp.maximum(last - first + 1, 1).astype(jnp.float64) / count)[:, None]
    index = jnp.arange(count, dtype=jnp.float64)
    start = jnp.floor(rounded(index * bin_size)).astype(jnp.int32) + first[:, None]
    stop = jnp.ceil(rounded((index + 1) * bin_size)).astype(jnp.int32) + first[:, None]
    return jnp.clip(start, 0, size), jnp.clip(stop, 0, size)


@register(
    "ROIPooling",
    infer_shape=_infer_roi_pooling_shape,
    kind="pool",
    file_format=FileFormat(scratch_outputs=lambda p: 1),
)
def roi_pooling(data: Array, rois: Array, *, pooled_size: Shape, spatial_scale: UnitInterval):
    """Returns the largest value in each of a grid of bins, for each region of interest.

    data (N, C, H, W), floating; rois (R, 5), each (index into N, x1, y1, x2, y2) in pixels of an
    image that data shows at ``spatial_scale``, ends included; returns (R, C, *pooled_size).
    Corners are rounded to whole rows and columns, halves away from zero; bins overlap where the
    region does not divide evenly; an empty bin, or a negative index, gives 0. NaN and -inf are
    skipped; a bin of nothing else gives the lowest float32. The gradient goes to the first
    largest entry of each bin; rois get zero. Girshick, Fast R-CNN, 2015.
    """
    count, channels, height, width = data.shape
    rows, columns = pooled_size
    pixels = height * width
    lowest = np.asarray(np.finfo(np.float32).min).astype(data.dtype)

    def pool(images: Array, image: Array, bins: Bins, find: bool):
        # Values of some regions and, if asked, where in their images they are, (B, P, Q, C).
        start = image[:, None, None] * pixels

        def visit(state, at, inside):
            best, where = state
            value = images[start + at]
            better = inside[..., None] & (value > best)
            if find:
                where = jnp.where(better, at[..., None], where)
            return jnp.where(better, value, best), where

        shape = image.shape[0], rows, columns, channels
        nowhere = jnp.full(shape if find else image.shape, pixels, jnp.int32)
        best, where = bins.walk(width, visit, (jnp.full(shape, lowest), nowhere))
        return jnp.where(bins.area()[..., None] > 0, best, 0), where

    def pool_all(data: Array, rois: Array, find: bool = True):
        image = rois[:, 0].astype(jnp.int32)
        x1, y1, x2, y2 = (round_away(rois[:, i] * spatial_scale) for i in range(1, 5))
        top, bottom = _roi_pooling_bounds(y1, y2, rows, height, data.dtype)
        left, right = _roi_pooling_bounds(x1, x2, columns, width, data.dtype)
        bottom = jnp.where(image[:, None] < 0, top, bottom)
        images = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
        image = jnp.clip(image, 0, count - 1)
        regions = image, Bins(top, bottom, left, right)
        blocks, number = to_blocks(regions, rows * columns * channels)
        pooled = lax.map(lambda at: pool(images, at[0], at[1], find), blocks)
        values, where = (join_blocks(a, number) for a in pooled)
        return jnp.moveaxis(values, 3, 1), (image, where)

    def backward(residuals, head):
        image, where = residuals
        flat = jnp.zeros((count, pixels, channels), data.dtype)
        where = where.reshape(image.shape[0], -1, channels)
        head = jnp.moveaxis(head, 1, 3).reshape(where.shape)
        at = flat.at[image[:, None, None], where, jnp.arange(channels, dtype=jnp.int32)]
        grad = at.add(head, mode="drop").reshape(count, height, width, channels)
        return jnp.moveaxis(grad, 3, 1), None

    def tangent(residuals, tangents):
        image, where = residuals
        if tangents[0] is None:
            return None
        flat = jnp.moveaxis(tangents[0], 1, 3).reshape(count, pixels, channels)
        at = flat.at[image[:, None, None, None], where, jnp.arange(channels, dtype=jnp.int32)]
        return jnp.moveaxis(at.get(mode="fill", fill_value=0), 3, 1)

    pooling = with_vjp(lambda *x: pool_all(*x, find=False)[0], pool_all, backward, tangent)
    return pooling(data, rois)


def _infer_roi_shape(numbers: int):
    def infer_shape(s: ShapeFacts, p: Params) -> None:
        s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
        s.set("rois", (0, numbers), because=f"a region has {numbers} numbers")

    return infer_shape


def _sample_counts(size: Array, bins: int, ratio: int) -> Array:
    if ratio > 0:
        return jnp.full(size.shape, ratio, jnp.int32)
    return jnp.ceil(size / bins).astype(jnp.int32)


def _is_outside(at: Array, size: int) -> Array:
    # Mask of the positions that read 0; others next to the image read its border.
    return (at < -1) | (at > size)


def _bin_weights(start: Array, extent: Array, bins: int, size: int, ratio: int) -> Array:
    # Weight of every row (or column) in the mean of the samples of each bin: (R, bins, size).
    bin_size = (extent / bins)[:, None]
    count = _sample_counts(extent, bins, ratio)[:, None]
    first = start[:, None] + jnp.arange(bins, dtype=start.dtype) * bin_size
    rows = jnp.arange(size, dtype=start.dtype)

    def add_sample(sample: Array, total: Array) -> Array:
        at = first + (sample.astype(start.dtype) + 0.5) * bin_size / count
        counts = (sample < count) & ~_is_outside(at, size)
        at = jnp.clip(at, 0, size - 1)[..., None]
        weight = jnp.maximum(1 - jnp.abs(at - rows), 0)
        return total + jnp.where(counts[..., None], weight, 0)

    empty = jnp.zeros((*first.shape, size), start.dtype)
    total = lax.fori_loop(jnp.int32(0), jnp.max(count, initial=0), add_sample, empty)
    return total / jnp.maximum(count, 1)[..., None]


@register("_contrib_ROIAlign", infer_shape=_infer_roi_shape(5))
def roi_align(
    data: Array,
    rois: Array,
    *,
    pooled_size: Shape,
    spatial_scale: UnitInterval,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
):
    """Averages bilinear samples in each of a grid of bins, for each region of interest.

    data (N, C, H, W), floating; rois (R, 5), each (index into N, x1, y1, x2, y2) in pixels of an
    image that data shows at ``spatial_scale``; returns (R, C, P, Q), P, Q = ``pooled_size``. Each
    bin takes ``sample_ratio`` samples each way, or as many as it is long (rounded up). Samples more
    than a pixel outside count as 0. ``aligned`` moves regions by half a pixel and does not enlarge
    them; otherwise they are at least one pixel wide and high. With ``position_sensitive``, C = D P
    Q, the result is (R, D, P, Q), and each bin reads its own channel. A negative index gives zeros
    (undefined in MXNet). The gradient of rois is zero. He et al., Mask R-CNN, 2017.
    """
    rois = lax.stop_gradient(rois)
    (bins_y, bins_x), (height, width) = pooled_size, data.shape[2:]
    if position_sensitive and data.shape[1] % (bins_y * bins_x):
        raise ShapeError(
            f"position_sensitive divides {data.shape[1]} channels among pooled_size={pooled_size}, "
            "whose bins have to divide them"
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
        return pooled_planes(data, image, bins, pooled_size, down, across)
    return pooled_regions(data, image, down, across)


@register("_contrib_RROIAlign", infer_shape=_infer_roi_shape(6))
def rroi_align(
    data: Array,
    rois: Array,
    *,
    pooled_size: Shape,
    spatial_scale: UnitInterval,
    sampling_ratio: int = -1,
):
    """Averages bilinear samples in each of a grid of bins, for each rotated region of interest.

    data (N, C, H, W), floating; rois (R, 6), each (index into N, x, y of the middle, width, height,
    angle in degrees, clockwise in the picture) in pixels of an image that data shows at
    ``spatial_scale``; returns (R, C, *pooled_size), sampled as in ROIAlign. (MXNet has no
    gradient; here data has the derivative, and rois get zero.) Ma et al., 2018.
    """
    rois = lax.stop_gradient(rois)
    (bins_y, bins_x), (count, channels, height, width) = pooled_size, data.shape
    rows = jnp.moveaxis(data, 1, 3).reshape(-1, channels)

    def size(rois: Array) -> tuple[Array, ...]:
        across, down = (jnp.maximum(rois[:, i] * spatial_scale, 1) for i in (3, 4))
        counts = (_sample_counts(*x, sampling_ratio) for x in ((down, bins_y), (across, bins_x)))
        return across, down, *counts

    def spot(number: Array, extent: Array, bins: int, sample: Array, of: Array):
        # Positions along one axis of the region, from its middle: (R, bins).
        bin_size = (extent / bins)[:, None]
        within = (sample.astype(data.dtype) + 0.5)[:, None] * bin_size / of[:, None]
        return number.astype(data.dtype) * bin_size - extent[:, None] / 2 + within

    def sample_bins(sample: Array, rows: Array, rois: Array) -> Array:
        # One sample of each bin: (R, P Q, C).
        across, down, samples_y, samples_x = size(rois)
        x, y = (rois[:, i, None, None] * spatial_scale for i in (1, 2))
        angle = rois[:, 5, None, None] * (jnp.pi / 180)
        image = jnp.clip(rois[:, 0].astype(jnp.int32), 0, count - 1)
        v = spot(jnp.arange(bins_y), down, bins_y, sample // samples_x, samples_y)[:, :, None]
        u = spot(jnp.arange(bins_x), across, bins_x, sample % samples_x, samples_x)[:, None]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        at_x = u * cos + v * sin + x
        at_y = v * cos - u * sin + y
        counts = (sample < samples_y * samples_x)[:, None, None]
        counts &= ~_is_outside(at_y, height) & ~_is_outside(at_x, width)
        at_y, at_x = jnp.clip(at_y, 0, height - 1), jnp.clip(at_x, 0, width - 1)
        index, weight = bilinear(at_y, at_x, height, width)
        index += (image * height * width)[:, None, None, None]
        weight = jnp.where(counts[..., None], weight, 0)
        flat = rois.shape[0], bins_y * bins_x, 4
        return weighted_rows(rows, index.reshape(flat), weight.reshape(flat))

    def sum_over_samples(one_sample, rois: Array, init: Array) -> Array:
        _, _, samples_y, samples_x = size(rois)
        most = jnp.max(samples_y * samples_x, initial=0)
        return lax.fori_loop(jnp.int32(0), most, lambda i, total: total + one_sample(i), init)

    # ``backward`` reads only arguments and residuals, since it may run in a separate program.
    def total(rows: Array, rois: Array) -> Array:
        empty = jnp.zeros((rois.shape[0], bins_y * bins_x, channels), data.dtype)
        return sum_over_samples(lambda sample: sample_bins(sample, rows, rois), rois, empty)

    def backward(residuals: tuple[Array], head: Array) -> tuple[Array, None]:
        (rois,) = residuals
        empty = jnp.zeros((count * height * width, channels), data.dtype)

        def one_sample(sample: Array) -> Array:
            return jax.vjp(lambda rows: sample_bins(sample, rows, rois), empty)[1](head)[0]

        return sum_over_samples(one_sample, rois, empty), None

    _, _, samples_y, samples_x = size(rois)
    sums = linear_in_first(total, backward)(rows, rois)
    mean = sums / jnp.maximum(samples_y * samples_x, 1)[:, None, None]
    return jnp.moveaxis(mean, 2, 1).reshape(rois.shape[0], channels, bins_y, bins_x)


def _infer_psroi_shape(s: ShapeFacts, p: Params) -> None:
    groups = p.group_size or p.pooled_size
    s.set("data", (0, p.output_dim * groups**2, 0, 0), because=f"output_dim={p.output_dim}")
    s.set("rois", (0, 5), because="a region is (batch index, x1, y1, x2, y2)")


def _psroi_extent(rois: Array, spatial_scale: float) -> tuple[Array, ...]:
    x1, y1, x2, y2 = (round_away(rois[:, i]).astype(rois.dtype) for i in range(1, 5))
    x1, y1 = x1 * spatial_scale, y1 * spatial_scale
    x2, y2 = (x2 + 1) * spatial_scale, (y2 + 1) * spatial_scale
    return x1, y1, jnp.maximum(x2 - x1, 0.1), jnp.maximum(y2 - y1, 0.1)


def _psroi_bounds(start: Array, extent: Array, count: int, size: int) -> list[Array]:
    # Starts and (excluded) stops, (R, count) each, within [0, ``size``], rounded where MXNet rounds
    # them, because a bin may end just at a row.
    rounded = rounding(start.dtype)
    start, extent = start.astype(jnp.float64)[:, None], extent.astype(jnp.float64)[:, None]
    number = jnp.arange(count, dtype=jnp.float64)
    bin_size = rounded(extent / count)
    first = jnp.floor(rounded(rounded(number * bin_size) + start))
    last = jnp.ceil(rounded(rounded((number + 1) * bin_size) + start))
    return [jnp.clip(bound, 0, size).astype(jnp.int32) for bound in (first, last)]


@register("_contrib_PSROIPooling", infer_shape=_infer_psroi_shape)
def psroi_pooling(
    data: Array,
    rois: Array,
    *,
    spatial_scale: UnitInterval,
    output_dim: int,
    pooled_size: int,
    group_size: int = 0,
):
    """Averages each of a grid of bins of a region, every bin of other channels.

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
    groups = (group_size or pooled_size,) * 2
    total = pooled_planes(data, rois[:, 0].astype(jnp.int32), bins, groups)
    return total / jnp.maximum(bins.area(), 1).astype(data.dtype)[:, None]


def _infer_deformable_psroi_shape(s: ShapeFacts, p: Params) -> None:
    _infer_psroi_shape(s, p)
    part = p.part_size or p.pooled_size
    rois = s["rois"]
    regions = rois[0] if rois and is_fully_known(rois) else 0
    s.set("trans", (regions, 0, part, part), because=f"rois is {rois}")


@register(
    "_contrib_DeformablePSROIPooling",
    inputs=lambda p: ("data", "rois") if p.no_trans else ("data", "rois", "trans"),
    outputs=("output", "top_count"),
    visible=1,
    infer_shape=_infer_deformable_psroi_shape,
)
def deformable_psroi_pooling(
    data: Array,
    rois: Array,
    trans: Array | None = None,
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
    """Averages bilinear samples in each bin of a region, as PSROIPooling with moved bins.

    data (N, D G G, H, W), floating, and rois (R, 5) as in PSROIPooling; trans (R, 2 K, T, T), x
    before y, T = ``part_size`` (0: as many as bins), moves the bins of the k-th of K groups of
    channels by ``trans_std`` times the region's width and height; absent with ``no_trans``. Each
    bin takes ``sample_per_part`` samples each way; samples more than half a pixel outside are left
    out. Returns (R, D, P, P); the hidden output is the number of samples of each. The gradient of
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

    def spots(start: Array, size: Array) -> Array:
        # Positions of samples along one axis before any move: (R, P, S).
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
    plane = (rois[:, 0].astype(jnp.int32)[:, None, None, None] * kinds + kind) * groups**2 + plane
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
