"""The gradient of a convolution's data where windows stay inside it: products of matrices in turns.

XLA's own form is a convolution of the padded gradient, so that it multiplies for every place of the
data, though only the fewer windows have a gradient. Here every element of the kernel in its turn
multiplies the gradient as it is, and adds that where the element has met the data. Measured on one
core:

| images | pixels  | kernel | channels | filters | XLA    | turns  |
| ------ | ------- | ------ | -------- | ------- | ------ | ------ |
| 32     | 12 x 12 | 5 x 5  | 20       | 50      | 5.1 ms | 2.1 ms |
| 32     | 12 x 12 | 5 x 5  | 64       | 64      | 10 ms  | 4.6 ms |
| 32     | 24 x 24 | 5 x 5  | 20       | 50      | 20 ms  | 12 ms  |
| 128    | 9 x 9   | 3 x 3  | 64       | 128     | 16 ms  | 9.6 ms |
| 4      | 12 x 12 | 3 x 3  | 256      | 256     | 6.7 ms | 4.7 ms |
| 32     | 16 x 16 | 3 x 3  | 32       | 32      | no difference   ||

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

from ...schema.attrs import Shape
from .depthwise import as_unsigned, conv_output_sizes, kernel_offset

#: From so many places of the data for each window on.
_PLACES = 4 / 3
_0 = np.uint32(0)


def shifted_matmul_input_grad(
    data: Shape, weight: Shape, windows: Any
) -> Callable[..., jax.Array] | None:
    """The gradient of the data as ``f(g, weight, shape)``, or None where XLA's is as good."""
    if windows.layout != "NHWC" or max(windows.strides) > 1:
        return None
    met = math.prod(conv_output_sizes(data[1:-1], weight[1:-1], windows))
    return partial(_in_turns, windows=windows) if math.prod(data[1:-1]) >= _PLACES * met else None


def _in_turns(g: jax.Array, weight: jax.Array, shape: Shape, windows: Any) -> jax.Array:
    n, rows, columns, filters = g.shape
    height, width, channels = weight.shape[1:]
    dtype = jnp.promote_types(g.dtype, "float32")
    columns_of_g, elements = g.reshape(-1, filters), weight.reshape(filters, -1, channels)
    span = (n, rows, columns, channels)

    def turn(number: Any, total: jax.Array) -> jax.Array:
        element = lax.dynamic_slice(elements, (_0, as_unsigned(number), _0), (filters, 1, channels))
        element = element.reshape(filters, channels)
        added = lax.dot_general(
            columns_of_g, element, (((1,), (0,)), ((), ())), preferred_element_type=dtype
        ).reshape(span)
        at = (_0, *kernel_offset(number, width, windows.dilation), _0)
        return lax.dynamic_update_slice(total, lax.dynamic_slice(total, at, span) + added, at)

    padded = [size + 2 * pad for size, pad in zip(shape[1:-1], windows.pads, strict=True)]
    total = lax.fori_loop(0, height * width, turn, jnp.zeros((n, *padded, channels), dtype))
    start = (0, *windows.pads, 0)
    stop = [first + size for first, size in zip(start, shape, strict=True)]
    return lax.slice(total, start, stop).astype(g.dtype)
