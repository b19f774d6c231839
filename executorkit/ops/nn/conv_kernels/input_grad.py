"""Input gradients of convolutions: shifted matrix products, and columns for few channels.

**Shifted products** (:func:`shifted_matmul_input_grad`), one per element of the kernel. XLA's own
form convolves the padded gradient: it multiplies at every position of the data, though only the
fewer windows have a gradient. Here each element of the kernel multiplies the gradient as it is and
adds the product at the data positions that the element met. Measured on one core:

| images | pixels  | kernel | channels | filters | XLA    | shifted |
| ------ | ------- | ------ | -------- | ------- | ------ | ------- |
| 32     | 12 x 12 | 5 x 5  | 20       | 50      | 5.1 ms | 2.1 ms  |
| 32     | 12 x 12 | 5 x 5  | 64       | 64      | 10 ms  | 4.6 ms  |
| 32     | 24 x 24 | 5 x 5  | 20       | 50      | 20 ms  | 12 ms   |
| 128    | 9 x 9   | 3 x 3  | 64       | 128     | 16 ms  | 9.6 ms  |
| 4      | 12 x 12 | 3 x 3  | 256      | 256     | 6.7 ms | 4.7 ms  |
| 32     | 16 x 16 | 3 x 3  | 32       | 32      | no difference    ||

**Columns** (:func:`column_input_grad`), for few channels, which fill no vector: one product per row
of windows gives the contribution of each element of the kernel to each channel, as rows of
positions, which are then added. Measured on one core, 4 images of 3 channels, 64 filters:

| pixels    | kernel | stride | XLA    | columns |
| --------- | ------ | ------ | ------ | ------- |
| 224 x 224 | 7 x 7  | 2      | 14 ms  | 7.5 ms  |
| 224 x 224 | 3 x 3  | 1      | 32 ms  | 13 ms   |
| 299 x 299 | 3 x 3  | 2      | 2.7 ms | 3.1 ms  |

The gradient of the result is (N, H', W', F), weight (F, kernel..., C), data (N, H, W, C).
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

#: Minimum number of data positions per window for which this algorithm is faster.
_MIN_POSITIONS_PER_WINDOW = 4 / 3
#: Maximum number of channels, and minimum number of windows per position, for columns.
_MAX_CHANNELS, _MIN_WINDOWS = 4, 9
_0 = np.uint32(0)


def shifted_matmul_input_grad(
    data: Shape, weight: Shape, dims: ConvDims
) -> Callable[..., Array] | None:
    """Returns the input gradient as ``f(g, weight, shape)``, or None where XLA's is as good."""
    if dims.layout != "NHWC" or max(dims.strides) > 1 or not is_known(*data[1:-1]):
        return None
    windows = math.prod(dims.output_sizes(data[1:-1], weight[1:-1]))
    if math.prod(data[1:-1]) < _MIN_POSITIONS_PER_WINDOW * windows:
        return None
    return partial(_shifted_matmuls, dims=dims)


def _shifted_matmuls(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    n, rows, columns, filters = g.shape
    height, width, channels = weight.shape[1:]
    dtype = jnp.promote_types(g.dtype, "float32")
    flat_g, elements = g.reshape(-1, filters), weight.reshape(filters, -1, channels)
    span = (n, rows, columns, channels)

    def add_element(number: Raw, total: Array) -> Array:
        element = lax.dynamic_slice(elements, (_0, as_unsigned(number), _0), (filters, 1, channels))
        element = element.reshape(filters, channels)
        product = lax.dot_general(
            flat_g, element, (((1,), (0,)), ((), ())), preferred_element_type=dtype
        ).reshape(span)
        start = (_0, *kernel_offset(number, width, dims.dilation), _0)
        changed = lax.dynamic_slice(total, start, span) + product
        return lax.dynamic_update_slice(total, changed, start)

    padded = [size + 2 * pad for size, pad in zip(shape[1:-1], dims.pads, strict=True)]
    zeros = varying_as(jnp.zeros((n, *padded, channels), dtype), g, weight)
    total = lax.fori_loop(0, height * width, add_element, zeros)
    start = (0, *dims.pads, 0)
    stop = [first + size for first, size in zip(start, shape, strict=True)]
    return lax.slice(total, start, stop).astype(g.dtype)


def column_input_grad(data: Shape, weight: Shape, dims: ConvDims) -> Callable[..., Array] | None:
    if dims.layout != "NHWC" or max(dims.dilation) > 1 or not is_known(*data[1:-1]):
        return None
    if data[-1] > _MAX_CHANNELS:
        return None
    if math.prod(weight[1:-1]) < _MIN_WINDOWS * math.prod(dims.strides):
        return None
    return partial(_columns, dims=dims)


def _columns(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    n, rows, columns, filters = g.shape
    height, width, channels = weight.shape[1:]
    down, along = dims.strides
    dtype = jnp.promote_types(g.dtype, "float32")
    elements = jnp.transpose(weight, (0, 3, 1, 2)).reshape(filters, -1)
    # Columns of data are (block of a stride, offset in it); the offsets are an axis in front.
    blocks = columns + (width - 1) // along
    covered = (rows - 1) * down + height, blocks * along

    def add_row(number: Raw, total: Array) -> Array:
        number = as_unsigned(number)
        g_row = lax.dynamic_slice(g, (_0, number, _0, _0), (n, 1, columns, filters))
        parts = lax.dot_general(
            elements, g_row.reshape(-1, filters), (((0,), (1,)), ((), ())),
            preferred_element_type=dtype,
        ).reshape(channels, height, width, n, columns)  # fmt: skip
        offsets = []
        for offset in range(along):
            placed = [
                jnp.pad(
                    parts[:, :, k], [(0, 0)] * 3 + [(k // along, blocks - columns - k // along)]
                )
                for k in range(offset, width, along)
            ]
            empty = jnp.zeros((channels, height, n, blocks), dtype)
            offsets.append(sum(placed[1:], placed[0]) if placed else empty)
        row = jnp.stack(offsets, 1).swapaxes(2, 3)
        start = (_0, _0, _0, number * np.uint32(down), _0)
        row = row + lax.dynamic_slice(total, start, row.shape)
        return lax.dynamic_update_slice(total, row, start)

    zeros = jnp.zeros((channels, along, n, covered[0], blocks), dtype)
    total = lax.fori_loop(0, rows, add_row, varying_as(zeros, g, weight))
    total = jnp.transpose(total, (2, 3, 4, 1, 0)).reshape(n, *covered, channels)
    edges = [
        (-pad, size + pad - length, 0)
        for pad, size, length in zip(dims.pads, shape[1:-1], covered, strict=True)
    ]
    edges = [(0, 0, 0), *edges, (0, 0, 0)]
    return lax.pad(total, np.zeros((), dtype), edges).astype(g.dtype)
