"""Weight gradients of convolutions of few images: im2col row by row, and images cut into tiles.

XLA's own form puts the batch in the place of the channels: a vector of a CPU is then as full as the
batch is large. Data is (N, H, W, C), weight (F, kernel..., C), the gradient of the result (N, H',
W', F).

**im2col** (:func:`im2col_weight_grad`), for 16 channels or more: a loop over blocks of rows of the
gradient copies the patches that these rows meet, as the columns of a matrix that stays in the
cache, and multiplies it with the rows; with numerous filters there is one iteration. The copying is
a loop too, which compiles in half the time of slices. Measured on one core, kernel 3 x 3:

| images | channels | filters | pixels    | stride | XLA    | im2col |
| ------ | -------- | ------- | --------- | ------ | ------ | ------ |
| 1      | 64       | 64      | 300 x 300 | 1      | 304 ms | 113 ms |
| 1      | 64       | 64      | 28 x 28   | 1      | 2.8 ms | 0.8 ms |
| 2      | 1024     | 126     | 19 x 19   | 1      | 41 ms  | 23 ms  |
| 4      | 64       | 64      | 56 x 56   | 1      | 18 ms  | 13 ms  |
| 4      | 128      | 128     | 28 x 28   | 1      | 14 ms  | 10 ms  |
| 4      | 128      | 128     | 56 x 56   | 2      | 19 ms  | 10 ms  |
| 4      | 512      | 512     | 7 x 7     | 1      | 12 ms  | 10 ms  |
| 8      | 64       | 64      | 56 x 56   | 1      | no difference   ||

**Tiles** (:func:`tiled_weight_grad`), for fewer channels: strips of rows that overlap by the kernel
serve as further images. Measured on one core, 3 channels:

| images | pixels    | kernel | stride | filters | XLA    | tiles  |
| ------ | --------- | ------ | ------ | ------- | ------ | ------ |
| 1      | 224 x 224 | 7 x 7  | 2      | 64      | 16 ms  | 3.7 ms |
| 4      | 224 x 224 | 7 x 7  | 2      | 64      | 25 ms  | 14 ms  |
| 4      | 299 x 299 | 3 x 3  | 2      | 32      | 9.0 ms | 5.0 ms |
| 4      | 224 x 224 | 3 x 3  | 1      | 64      | 15 ms  | 14 ms  |
"""

import math
from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...._support.annotations import Raw
from ...schema.attrs import Shape
from ...tracing import is_known, varying_as
from .conv_dims import ConvDims, as_unsigned, kernel_offset

#: Number of images from which XLA's form is as good as im2col.
_IM2COL_MAX_IMAGES = 8
#: Minimum number of channels for im2col: with fewer, the copied pieces are too short.
IM2COL_MIN_CHANNELS = 16
#: Target per iteration: number of output positions, and of elements copied for them.
_POSITIONS, _ELEMENTS = 512, 2**20
#: One iteration is taken up to this number of output positions per filter, and elements copied.
_POSITIONS_PER_FILTER, _MAX_ELEMENTS = 4, 2**22
#: Number of images and tiles that fill a vector.
_TILES = 8
_0 = np.uint32(0)


def im2col_weight_grad(data: Shape, weight: Shape, dims: ConvDims) -> Callable[..., Array] | None:
    """Returns the weight gradient as ``f(data, g, shape)``, or None where XLA's is as good."""
    if dims.layout != "NHWC" or data[-1] < IM2COL_MIN_CHANNELS:
        return None
    if not is_known(*data) or data[0] >= _IM2COL_MAX_IMAGES:
        return None
    return partial(_im2col, dims=dims)


def _rows_per_iteration(rows: int, positions: int, filters: int, patch: int) -> int:
    # Number of output rows per iteration, of ``rows`` rows with ``positions`` output positions
    # each, for each of which a patch of ``patch`` elements is copied.
    if rows * positions <= min(_POSITIONS_PER_FILTER * filters, _MAX_ELEMENTS // patch):
        return rows
    most = max(1, min(_POSITIONS, _ELEMENTS // patch) // positions)
    return math.ceil(rows / math.ceil(rows / most))


def _im2col(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    filters, height, width, channels = shape
    n, rows, columns, _ = g.shape
    row_stride, column_stride = dims.strides
    patch_size = height * width * channels
    block = _rows_per_iteration(rows, n * columns, filters, patch_size)
    iterations = -(-rows // block)
    above, left = dims.pads
    needed = (iterations * block - 1) * row_stride + (height - 1) * dims.dilation[0] + 1
    below = max(0, needed - above - data.shape[1])
    data = jnp.pad(data, [(0, 0), (above, below), (left, left), (0, 0)])
    g = jnp.pad(g, [(0, 0), (0, iterations * block - rows), (0, 0), (0, 0)])
    span = (n, (block - 1) * row_stride + 1, (columns - 1) * column_stride + 1, channels)

    def add_block(number: Raw, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        first = as_unsigned(number) * np.uint32(block)

        def copy_element(k: Raw, patches: Array) -> Array:
            down, along = kernel_offset(k, width, dims.dilation)
            start = (_0, first * np.uint32(row_stride) + down, along, _0)
            part = lax.dynamic_slice(data, start, span)
            part = lax.slice(part, (0, 0, 0, 0), span, (1, row_stride, column_stride, 1))
            column = as_unsigned(k) * np.uint32(channels)
            return lax.dynamic_update_slice(patches, part, (_0, _0, _0, column))

        total, patches = carry
        g_rows = lax.dynamic_slice(g, (_0, first, _0, _0), (n, block, columns, filters))
        patches = lax.fori_loop(0, height * width, copy_element, patches)
        product = lax.dot_general(
            g_rows.reshape(-1, filters), patches.reshape(-1, patch_size), (((0,), (0,)), ((), ()))
        )
        return total + product, patches

    # Written before it is read, so no zeros: equal ones of several layers would be made one array
    # that is kept for all of them.
    patches = jnp.broadcast_to(g[:1, :1, :1, :1], (n, block, columns, patch_size))
    patches = varying_as(patches, data, g)
    total = varying_as(jnp.zeros((filters, patch_size), g.dtype), data, g)
    return lax.fori_loop(0, iterations, add_block, (total, patches))[0].reshape(shape)


def tiled_weight_grad(
    data: Shape, weight: Shape, dims: ConvDims, weight_grad: Callable[..., Array]
) -> Callable[..., Array] | None:
    """Returns the weight gradient as ``f(data, g, shape)``, or None where whole images, by
    ``weight_grad(data, g, shape, dims)``, are as good."""
    if dims.layout != "NHWC" or not is_known(*data) or data[0] >= _TILES:
        return None
    tiles = -(-_TILES // data[0])
    rows = dims.output_sizes(data[1:-1], weight[1:-1])[0]
    if rows * dims.strides[0] < tiles * weight[1] * dims.dilation[0]:
        return None
    return partial(_tiled, dims=dims, tiles=tiles, weight_grad=weight_grad)


def _tiled(
    data: Array, g: Array, shape: Shape, dims: ConvDims, tiles: int,
    weight_grad: Callable[..., Array],
) -> Array:  # fmt: skip
    n, rows, columns, filters = g.shape
    above, left = dims.pads
    height = -(-rows // tiles)
    step = height * dims.strides[0]
    span = step - dims.strides[0] + (shape[1] - 1) * dims.dilation[0] + 1
    below = max(0, (tiles - 1) * step + span - above - data.shape[1])
    data = jnp.pad(data, [(0, 0), (above, below), (0, 0), (0, 0)])
    strips = jnp.concatenate([data[:, k * step : k * step + span] for k in range(tiles)])
    g = jnp.pad(g, [(0, 0), (0, tiles * height - rows), (0, 0), (0, 0)])
    g = jnp.swapaxes(g.reshape(n, tiles, height, columns, filters), 0, 1)
    g = g.reshape(-1, height, columns, filters)
    return weight_grad(strips, g, shape, dims._replace(pads=(0, left)))
