"""Input gradient of a convolution as shifted matrix products, one per element of the kernel.

XLA's own form is a convolution of the padded gradient: it multiplies at every position of the data,
though only the fewer windows have a gradient. Here each element of the kernel, one per iteration,
multiplies the gradient as it is and adds the product at the data positions that the element met.
Measured on one core:

| images | pixels  | kernel | channels | filters | XLA    | shifted |
| ------ | ------- | ------ | -------- | ------- | ------ | ------- |
| 32     | 12 x 12 | 5 x 5  | 20       | 50      | 5.1 ms | 2.1 ms  |
| 32     | 12 x 12 | 5 x 5  | 64       | 64      | 10 ms  | 4.6 ms  |
| 32     | 24 x 24 | 5 x 5  | 20       | 50      | 20 ms  | 12 ms   |
| 128    | 9 x 9   | 3 x 3  | 64       | 128     | 16 ms  | 9.6 ms  |
| 4      | 12 x 12 | 3 x 3  | 256      | 256     | 6.7 ms | 4.7 ms  |
| 32     | 16 x 16 | 3 x 3  | 32       | 32      | no difference    ||

The gradient of the result is (N, H', W', F), weight (F, kernel..., C), data (N, H, W, C).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...manual_axes import varying_as
from ...schema.attrs import Shape
from ...symbolic_sizes import is_known
from .conv_dims import ConvDims, as_unsigned, kernel_offset

#: Minimum number of data positions per window for which this algorithm is faster.
_MIN_POSITIONS_PER_WINDOW = 4 / 3
_0 = np.uint32(0)


def shifted_matmul_input_grad(
    data: Shape, weight: Shape, dims: ConvDims
) -> Callable[..., jax.Array] | None:
    """The input gradient as ``f(g, weight, shape)``, or None where XLA's is as good."""
    if dims.layout != "NHWC" or max(dims.strides) > 1 or not is_known(*data[1:-1]):
        return None
    windows = math.prod(dims.output_sizes(data[1:-1], weight[1:-1]))
    if math.prod(data[1:-1]) < _MIN_POSITIONS_PER_WINDOW * windows:
        return None
    return partial(_shifted_matmuls, dims=dims)


def _shifted_matmuls(g: jax.Array, weight: jax.Array, shape: Shape, dims: ConvDims) -> jax.Array:
    n, rows, columns, filters = g.shape
    height, width, channels = weight.shape[1:]
    dtype = jnp.promote_types(g.dtype, "float32")
    flat_g, elements = g.reshape(-1, filters), weight.reshape(filters, -1, channels)
    span = (n, rows, columns, channels)

    def add_element(number: Any, total: jax.Array) -> jax.Array:
        element = lax.dynamic_slice(elements, (_0, as_unsigned(number), _0), (filters, 1, channels))
        element = element.reshape(filters, channels)
        product = lax.dot_general(
            flat_g, element, (((1,), (0,)), ((), ())), preferred_element_type=dtype
        ).reshape(span)
        start = (_0, *kernel_offset(number, width, dims.dilation), _0)
        return lax.dynamic_update_slice(
            total, lax.dynamic_slice(total, start, span) + product, start
        )

    padded = [size + 2 * pad for size, pad in zip(shape[1:-1], dims.pads, strict=True)]
    zeros = varying_as(jnp.zeros((n, *padded, channels), dtype), g, weight)
    total = lax.fori_loop(0, height * width, add_element, zeros)
    start = (0, *dims.pads, 0)
    stop = [first + size for first, size in zip(start, shape, strict=True)]
    return lax.slice(total, start, stop).astype(g.dtype)
