"""Images cut into the patches that a convolution sees, and put together again."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import AttributeValueError, ShapeError
from ._attrs import Shape
from ._registry import register
from .conv import spatial


def _cut(data: jax.Array, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape) -> jax.Array:
    """Patches (N, C, *kernel, *places) of images (N, C, *sizes)."""
    rank = len(kernel)
    data = jnp.pad(data, [(0, 0), (0, 0), *((p, p) for p in pad)])
    for i, (k, s, d) in enumerate(zip(kernel, stride, dilate, strict=True)):
        axis = 2 + 2 * i  # those before it are split into (kernel, places) already
        places = (data.shape[axis] - d * (k - 1) - 1) // s + 1
        if places < 1:
            raise ShapeError(f"axis {2 + i} is too short for a kernel of {k} with dilate {d}")
        where = lax.broadcasted_iota("int32", (k, places), 1) * s
        where += lax.broadcasted_iota("int32", (k, places), 0) * d
        data = jnp.take(data, where, axis, mode="clip")
    order = (0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2))
    return lax.transpose(data, order)


def _window(kernel: Shape, stride: Shape, dilate: Shape, pad: Shape) -> tuple[Shape, ...]:
    if not 1 <= len(kernel) <= 3:
        raise AttributeValueError(f"kernel={kernel}, expected one to three numbers")
    rank = len(kernel)
    return (
        kernel,
        spatial("stride", stride, rank, 1),
        spatial("dilate", dilate, rank, 1),
        spatial("pad", pad, rank, 0),
    )


@register("im2col")
def im2col(
    data: jax.Array, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()
):
    """The patches of images that a convolution multiplies with its weight, as columns.

    data (N, C, *sizes) with one to three sizes, as many as ``kernel`` has numbers; stride and
    dilate default to 1, pad (with zeros) to 0. Returns (N, C * product of kernel, places): row
    c * product of kernel + k holds channel c at place k of the kernel, column by column for every
    place of the kernel in the image, row by row. The gradient is ``col2im``.
    """
    window = _window(kernel, stride, dilate, pad)
    if data.ndim != len(kernel) + 2:
        raise ShapeError(f"'data' is {data.shape}, expected {len(kernel) + 2} axes")
    batch, channels = data.shape[:2]
    return _cut(data, *window).reshape(batch, channels * math.prod(kernel), -1)


@register("col2im")
def col2im(
    data: jax.Array,
    *,
    output_size: Shape,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
):
    """Images from columns of patches, which are added up where they overlap.

    data (N, C * product of kernel, places), as ``im2col`` gives it for images of ``output_size``.
    Returns (N, C, *output_size). The gradient is ``im2col``.
    """
    window = _window(kernel, stride, dilate, pad)
    if data.ndim != 3 or data.shape[1] % math.prod(kernel) or len(output_size) != len(kernel):
        raise ShapeError(
            f"'data' is {data.shape}, expected (N, C * {math.prod(kernel)}, places) for images of "
            f"output_size={output_size}"
        )
    batch, channels = data.shape[0], data.shape[1] // math.prod(kernel)
    images = jax.ShapeDtypeStruct((batch, channels, *output_size), data.dtype)
    columns = jax.eval_shape(lambda x: _cut(x, *window), images).shape
    if math.prod(columns) != data.size:
        raise ShapeError(
            f"'data' is {data.shape}, expected {math.prod(columns[2 + len(kernel) :])} places"
        )
    (image,) = jax.linear_transpose(lambda x: _cut(x, *window), images)(data.reshape(columns))
    return image
