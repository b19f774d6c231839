"""Spatial transformers: sampling grids, bilinear sampling, and both together."""

from typing import Literal

import jax.numpy as jnp
from jax import Array

from ...errors import AttributeValueError
from ..schema.attrs import Shape, Tuning
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import MATMUL, NAMED_DATA
from .bilinear_sampling import bilinear, weighted_rows


def _normalized_coordinates(size: int, dtype: jnp.dtype) -> Array:
    return jnp.arange(size, dtype=dtype) * (2.0 / (size - 1) if size > 1 else jnp.nan) - 1


def _affine_grid(theta: Array, target: Shape) -> Array:
    # Source coordinates x, y (N, 2, H, W) of affine maps (N, 6).
    height, width = target
    if min(target) < 1:
        raise AttributeValueError(f"target_shape={target}, expected the sides of the result")
    x, y = jnp.meshgrid(*(_normalized_coordinates(n, theta.dtype) for n in (width, height)))
    points = jnp.stack([x, y, jnp.ones_like(x)])
    return jnp.einsum("nij,jhw->nihw", theta.reshape(-1, 2, 3), points)


def _infer_grid_shape(s: ShapeFacts, p: Params) -> None:
    if p.transform_type == "affine":
        s.set("data", (0, 6), because="an affine map has six numbers")
    else:
        s.set("data", (0, 2, 0, 0), because="a flow field is (N, 2, H, W)")
        s.same("data", "out0")


@register(
    "GridGenerator",
    infer_shape=_infer_grid_shape,
    traits={NAMED_DATA},
    file_format=FileFormat(scratch_outputs=lambda p: 1),
)
def grid_generator(
    data: Array, *, transform_type: Literal["affine", "warp"], target_shape: Shape = (0, 0)
):
    """Generates source coordinates for ``BilinearSampler``: (N, 2, H, W), x before y, -1 to 1.

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


def _sample_bilinear(data: Array, grid: Array) -> Array:
    # Bilinear interpolation of (N, C, H, W) at (N, 2, h, w); zero outside.
    count, channels, height, width = data.shape
    x = (grid[:, 0] + 1) * ((width - 1) / 2)
    index, weight = bilinear((grid[:, 1] + 1) * ((height - 1) / 2), x, height, width)
    image = jnp.arange(count, dtype=jnp.int32)[:, None, None, None]
    index = (index + image * height * width).reshape(count, -1, 4)
    rows = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
    out = weighted_rows(rows, index, weight.reshape(index.shape))
    return jnp.moveaxis(out, 2, 1).reshape(count, channels, *grid.shape[2:])


def _infer_sampler_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.set("grid", (data[0] if data else 0, 2, 0, 0), because=f"data is {data}")


@register(
    "BilinearSampler",
    infer_shape=_infer_sampler_shape,
    traits={MATMUL},
    file_format=FileFormat(scratch_outputs=lambda p: 1),
)
def bilinear_sampler(data: Array, grid: Array, *, cudnn_off: Tuning[bool | None] = None):
    """Samples images bilinearly at the positions of a grid.

    data (N, C, H, W); grid (N, 2, h, w) with x and y from -1, the first column or row, to 1, the
    last; returns (N, C, h, w). Pixels outside the image count as 0. Floating; keeps the dtype.
    Jaderberg et al., Spatial Transformer Networks, 2015.
    """
    return _sample_bilinear(data, grid)


def _infer_transformer_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    s.set("data", (0, 0, 0, 0), because="an image batch is (N, C, H, W)")
    s.set("loc", (data[0] if data else 0, 6), because=f"data is {data}; a map has six numbers")


@register(
    "SpatialTransformer",
    infer_shape=_infer_transformer_shape,
    file_format=FileFormat(scratch_outputs=lambda p: 2),
)
def spatial_transformer(
    data: Array,
    loc: Array,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: Tuning[bool | None] = None,
):
    """Transforms images by an affine map: ``BilinearSampler(data, GridGenerator(loc))``.

    data (N, C, H, W); loc (N, 6), the rows of a (2, 3) matrix; returns (N, C, *target_shape), each
    side at least 2. Floating; keeps the dtype. Jaderberg et al., 2015.
    """
    return _sample_bilinear(data, _affine_grid(loc, target_shape))
