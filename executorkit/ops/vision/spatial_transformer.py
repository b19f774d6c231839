"""Regions and warps of images: ROIPooling, grids, bilinear sampling, spatial transformers.

Detection heads (anchors, matching, suppression) are in ``detection``.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...errors import AttributeValueError
from ..schema.attrs import Shape, Tuning, UnitInterval
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import MATMUL, NAMED_DATA
from .bilinear_sampling import bilinear, weighted_rows
from .region_bins import Bins, in_blocks, joined, round_away, rounding


def _infer_roi_pooling_shape(s: ShapeFacts, p: Params) -> None:
    s.set("data", (0, 0, 0, 0), because="ROIPooling takes (N, C, H, W)")
    s.set("rois", (0, 5), because="a region is (batch index, x1, y1, x2, y2)")


def _roi_pooling_bounds(
    first: jax.Array, last: jax.Array, count: int, size: int, dtype: jnp.dtype
) -> tuple[jax.Array, jax.Array]:
    """The first of ``size`` rows (or columns) in each of ``count`` bins, and the first behind it:
    (R, count) each, of regions from ``first`` to ``last``.

    MXNet's bounds are products rounded to the dtype, which is off by one for a few sizes (31 rows
    in 7 bins). XLA replaces a division by a constant with a product, which is off for others; so
    everything is computed in double precision and rounded to the dtype where MXNet rounds.
    """
    rounded = rounding(dtype)
    bin_size = rounded(jnp.maximum(last - first + 1, 1).astype(jnp.float64) / count)[:, None]
    index = jnp.arange(count, dtype=jnp.float64)
    start = jnp.floor(rounded(index * bin_size)).astype(jnp.int32) + first[:, None]
    stop = jnp.ceil(rounded((index + 1) * bin_size)).astype(jnp.int32) + first[:, None]
    return jnp.clip(start, 0, size), jnp.clip(stop, 0, size)


@register("ROIPooling", infer_shape=_infer_roi_pooling_shape, kind="pooling", file_format=FileFormat(scratch_outputs=lambda p: 1))
def roi_pooling(
    data: jax.Array, rois: jax.Array, *, pooled_size: Shape, spatial_scale: UnitInterval
):
    """Largest value in each of a grid of bins, for each region of interest.

    data (N, C, H, W), floating; rois (R, 5), each (index into N, x1, y1, x2, y2) in pixels of an
    image that data shows at ``spatial_scale``, ends included; returns (R, C, *pooled_size).
    Corners are rounded to whole rows and columns, halves away from zero; bins overlap where the
    region does not divide evenly; an empty bin, or a negative index, gives 0. NaN and -inf are
    passed over; a bin of nothing else gives the lowest float32. The gradient goes to the first
    largest entry of each bin; that of rois is zero. Girshick, Fast R-CNN, 2015.
    """
    count, channels, height, width = data.shape
    rows, columns = pooled_size
    pixels = height * width
    lowest = np.asarray(np.finfo(np.float32).min).astype(data.dtype)

    def pool(images: jax.Array, image: jax.Array, bins: Bins, find: bool):
        """Values of some regions and, if asked, where in their images they are, (B, P, Q, C)."""
        start = image[:, None, None] * pixels

        def visit(state, at, inside):
            best, where = state
            value = images[start + at]
            better = inside[..., None] & (value > best)
            if find:
                where = jnp.where(better, at[..., None], where)
            return jnp.where(better, value, best), where

        shape = len(image), rows, columns, channels
        nowhere = jnp.full(shape if find else image.shape, pixels, jnp.int32)
        best, where = bins.walk(width, visit, (jnp.full(shape, lowest), nowhere))
        return jnp.where(bins.area()[..., None] > 0, best, 0), where

    def pool_all(data: jax.Array, rois: jax.Array, find: bool):
        image = rois[:, 0].astype(jnp.int32)
        x1, y1, x2, y2 = (round_away(rois[:, i] * spatial_scale) for i in range(1, 5))
        top, bottom = _roi_pooling_bounds(y1, y2, rows, height, data.dtype)
        left, right = _roi_pooling_bounds(x1, x2, columns, width, data.dtype)
        bottom = jnp.where(image[:, None] < 0, top, bottom)
        images = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
        image = jnp.clip(image, 0, count - 1)
        regions = image, Bins(top, bottom, left, right)
        blocks, number = in_blocks(regions, rows * columns * channels)
        pooled = lax.map(lambda at: pool(images, at[0], at[1], find), blocks)
        values, where = (joined(a, number) for a in pooled)
        return jnp.moveaxis(values, 3, 1), (image, where)

    @jax.custom_vjp
    def pooling(data, rois):
        return pool_all(data, rois, find=False)[0]

    def back(residuals, head):
        image, where = residuals
        flat = jnp.zeros((count, pixels, channels), data.dtype)
        where = where.reshape(len(image), -1, channels)
        head = jnp.moveaxis(head, 1, 3).reshape(where.shape)
        at = flat.at[image[:, None, None], where, jnp.arange(channels, dtype=jnp.int32)]
        grad = at.add(head, mode="drop").reshape(count, height, width, channels)
        return jnp.moveaxis(grad, 3, 1), None

    pooling.defvjp(lambda data, rois: pool_all(data, rois, find=True), back)
    return pooling(data, rois)


def _normalized_coordinates(size: int, dtype: jnp.dtype) -> jax.Array:
    """``size`` coordinates from -1 to 1."""
    return jnp.arange(size, dtype=dtype) * (2.0 / (size - 1) if size > 1 else jnp.nan) - 1


def _affine_grid(theta: jax.Array, target: Shape) -> jax.Array:
    """(N, 2, H, W) source coordinates x, y of an affine map (N, 6)."""
    height, width = target
    if min(target) < 1:
        raise AttributeValueError(f"target_shape={target}, expected the sides of the result")
    x, y = jnp.meshgrid(
        _normalized_coordinates(width, theta.dtype), _normalized_coordinates(height, theta.dtype)
    )
    points = jnp.stack([x, y, jnp.ones_like(x)])
    return jnp.einsum("nij,jhw->nihw", theta.reshape(-1, 2, 3), points)


def _infer_grid_shape(s: ShapeFacts, p: Params) -> None:
    if p.transform_type == "affine":
        s.set("data", (0, 6), because="an affine map has six numbers")
    else:
        s.set("data", (0, 2, 0, 0), because="a flow field is (N, 2, H, W)")
        s.same("data", "out0")


@register("GridGenerator", infer_shape=_infer_grid_shape, traits={NAMED_DATA}, file_format=FileFormat(scratch_outputs=lambda p: 1))
def grid_generator(
    data: jax.Array, *, transform_type: Literal["affine", "warp"], target_shape: Shape = (0, 0)
):
    """Source coordinates for ``BilinearSampler``: (N, 2, H, W), x before y, -1 to 1 over the image.

    ``affine``: data (N, 6), the rows of a (2, 3) matrix that maps target (x, y, 1) to source;
    H, W = ``target_shape``, each at least 2. ``warp``: data (N, 2, H, W), a flow in pixels that is
    added to each position. Floating; keeps the dtype.
    """
    if transform_type == "affine":
        return _affine_grid(data, target_shape)
    _, _, height, width = data.shape
    y, x = jnp.meshgrid(jnp.arange(height), jnp.arange(width), indexing="ij")
    half = jnp.asarray([(width - 1) / 2, (height - 1) / 2], data.dtype)[:, None, None]
    return (data + jnp.stack([x, y]).astype(data.dtype)) / half - 1


def _sample_bilinear(data: jax.Array, grid: jax.Array) -> jax.Array:
    """Bilinear interpolation of (N, C, H, W) at (N, 2, h, w); zero outside."""
    count, channels, height, width = data.shape
    x = (grid[:, 0] + 1) * ((width - 1) / 2)
    y = (grid[:, 1] + 1) * ((height - 1) / 2)
    index, weight = bilinear(y, x, height, width)
    image = jnp.arange(count, dtype=jnp.int32)[:, None, None, None]
    index = (index + image * height * width).reshape(count, -1, 4)
    rows = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
    out = weighted_rows(rows, index, weight.reshape(index.shape))
    return jnp.moveaxis(out, 2, 1).reshape(count, channels, *grid.shape[2:])


def _infer_sampler_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.set("grid", (data[0] if data else 0, 2, 0, 0), because=f"data is {data}")


@register("BilinearSampler", infer_shape=_infer_sampler_shape, traits={MATMUL}, file_format=FileFormat(scratch_outputs=lambda p: 1))
def bilinear_sampler(data: jax.Array, grid: jax.Array, *, cudnn_off: Tuning[bool | None] = None):
    """Bilinear interpolation of images at the places that a grid names.

    data (N, C, H, W); grid (N, 2, h, w) with x and y from -1, the first column or row, to 1, the
    last; returns (N, C, h, w). Pixels outside the image count as 0. Floating; keeps the dtype.
    Jaderberg et al., Spatial Transformer Networks, 2015.
    """
    return _sample_bilinear(data, grid)


def _infer_transformer_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.set("loc", (data[0] if data else 0, 6), because=f"data is {data}; a map has six numbers")


@register("SpatialTransformer", infer_shape=_infer_transformer_shape, file_format=FileFormat(scratch_outputs=lambda p: 2))
def spatial_transformer(
    data: jax.Array,
    loc: jax.Array,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: Tuning[bool | None] = None,
):
    """Images seen through an affine map: ``BilinearSampler(data, GridGenerator(loc))``.

    data (N, C, H, W); loc (N, 6), the rows of a (2, 3) matrix; returns (N, C, *target_shape), each
    side at least 2. Floating; keeps the dtype. Jaderberg et al., 2015.
    """
    return _sample_bilinear(data, _affine_grid(loc, target_shape))
