"""The gradient of a convolution's weight, of few images: products of matrices, row by row.

XLA's own form transposes data and gradient so that the batch takes the place of the channels: a
vector of a CPU is then as full as the batch is large, and what is transposed is written once more.
Here a loop goes over the rows of the gradient, and multiplies what every element of the kernel
meets there with it; what is copied for that, in a loop over these elements (which compiles in half
the time of one slice each), stays in the cache. Where the filters are so many that
adding up costs more than the copies do, there is one turn. Measured on one core, kernel 3 x 3:

| images | channels | filters | pixels    | every | XLA    | rows   |
| ------ | -------- | ------- | --------- | ----- | ------ | ------ |
| 1      | 64       | 64      | 300 x 300 |       | 304 ms | 113 ms |
| 1      | 64       | 64      | 28 x 28   |       | 2.8 ms | 0.8 ms |
| 2      | 1024     | 126     | 19 x 19   |       | 41 ms  | 23 ms  |
| 4      | 64       | 64      | 56 x 56   |       | 18 ms  | 13 ms  |
| 4      | 128      | 128     | 28 x 28   |       | 14 ms  | 10 ms  |
| 4      | 128      | 128     | 56 x 56   | 2nd   | 19 ms  | 10 ms  |
| 4      | 512      | 512     | 7 x 7     |       | 12 ms  | 10 ms  |
| 8      | 64       | 64      | 56 x 56   |       | no difference  ||

Data is (N, H, W, C), weight (F, kernel..., C), the gradient of the result (N, H', W', F).

The gradient of a convolution's weight, of few images with few channels: images cut into strips.

XLA's own form has the batch in the place of the channels, so that a vector of a CPU is as full as
the batch is large. Strips of rows that overlap by the kernel are as good as images. Measured on one
core, 3 channels:

| images | pixels    | kernel | every | filters | XLA    | strips |
| ------ | --------- | ------ | ----- | ------- | ------ | ------ |
| 1      | 224 x 224 | 7 x 7  | 2nd   | 64      | 16 ms  | 3.7 ms |
| 4      | 224 x 224 | 7 x 7  | 2nd   | 64      | 25 ms  | 14 ms  |
| 4      | 299 x 299 | 3 x 3  | 2nd   | 32      | 9.0 ms | 5.0 ms |
| 4      | 224 x 224 | 3 x 3  |       | 64      | 15 ms  | 14 ms  |

Data is (N, H, W, C), weight (F, kernel..., C), the gradient of the result (N, H', W', F).
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

#: From so many images on, XLA's form is as good.
_IMAGES = 8
#: So many channels are needed: with fewer, the copies are in pieces that are too short.
IM2COL_MIN_CHANNELS = 16
#: About so many places are multiplied at once, with so many numbers copied for them.
_PLACES, _NUMBERS = 512, 2**20

#: In one turn, up to so many places per filter, with so many numbers copied for them.
_PER_FILTER, _AT_MOST = 4, 2**22
_0 = np.uint32(0)


def im2col_weight_grad(data: Shape, weight: Shape, windows: Any) -> Callable[..., jax.Array] | None:
    """The gradient of the weight as ``f(data, g, shape)``, or None where XLA's is as good."""
    if windows.layout != "NHWC" or data[0] >= _IMAGES or data[-1] < IM2COL_MIN_CHANNELS:
        return None
    return partial(_by_rows, windows=windows)


def _rows_at_once(rows: int, places: int, filters: int, numbers: int) -> int:
    """Of so many rows with so many places each; ``numbers`` are copied for every place."""
    if rows * places <= min(_PER_FILTER * filters, _AT_MOST // numbers):
        return rows
    most = max(1, min(_PLACES, _NUMBERS // numbers) // places)
    return math.ceil(rows / math.ceil(rows / most))


def _by_rows(data: jax.Array, g: jax.Array, shape: Shape, windows: Any) -> jax.Array:
    filters, height, width, channels = shape
    n, rows, columns, _ = g.shape
    step, step_along = windows.strides
    numbers = height * width * channels
    at_once = _rows_at_once(rows, n * columns, filters, numbers)
    turns = -(-rows // at_once)
    above, left = windows.pads
    needed = (turns * at_once - 1) * step + (height - 1) * windows.dilation[0] + 1
    below = max(0, needed - above - data.shape[1])
    data = jnp.pad(data, [(0, 0), (above, below), (left, left), (0, 0)])
    g = jnp.pad(g, [(0, 0), (0, turns * at_once - rows), (0, 0), (0, 0)])
    span = (n, (at_once - 1) * step + 1, (columns - 1) * step_along + 1, channels)

    def turn(number: Any, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        first = as_unsigned(number) * np.uint32(at_once)

        def element(k: Any, met: jax.Array) -> jax.Array:
            down, along = kernel_offset(k, width, windows.dilation)
            at = (_0, first * np.uint32(step) + down, along, _0)
            part = lax.dynamic_slice(data, at, span)
            part = lax.slice(part, (0, 0, 0, 0), span, (1, step, step_along, 1))
            column = as_unsigned(k) * np.uint32(channels)
            return lax.dynamic_update_slice(met, part, (_0, _0, _0, column))

        total, met = carry
        here = lax.dynamic_slice(g, (_0, first, _0, _0), (n, at_once, columns, filters))
        met = lax.fori_loop(0, height * width, element, met)
        found = lax.dot_general(
            here.reshape(-1, filters), met.reshape(-1, numbers), (((0,), (0,)), ((), ()))
        )
        return total + found, met

    # Written before it is read, so no zeros: equal ones of several layers would be made one array
    # that is kept for all of them.
    met = jnp.broadcast_to(g[:1, :1, :1, :1], (n, at_once, columns, numbers))
    total = jnp.zeros((filters, numbers), g.dtype)
    return lax.fori_loop(0, turns, turn, (total, met))[0].reshape(shape)


#: So many strips fill a vector.
TILES_PER_BATCH = 8


def tiled_weight_grad(
    data: Shape, weight: Shape, windows: Any, to_weight: Callable[..., jax.Array]
) -> Callable[..., jax.Array] | None:
    """The gradient of the weight as ``f(data, g, shape)``, or None where whole images are as good.

    ``to_weight(data, g, shape, windows)`` is that of whole images.
    """
    if windows.layout != "NHWC" or data[0] >= TILES_PER_BATCH:
        return None
    each = -(-TILES_PER_BATCH // data[0])
    rows = conv_output_sizes(data[1:-1], weight[1:-1], windows)[0]
    if rows * windows.strides[0] < each * weight[1] * windows.dilation[0]:
        return None
    return partial(_by_strips, windows=windows, each=each, to_weight=to_weight)


def _by_strips(
    data: jax.Array, g: jax.Array, shape: Shape, windows: Any, each: int,
    to_weight: Callable[..., jax.Array],
) -> jax.Array:  # fmt: skip
    """With ``each`` image in so many strips."""
    n, rows, columns, filters = g.shape
    above, left = windows.pads
    height = -(-rows // each)
    step = height * windows.strides[0]
    span = step - windows.strides[0] + (shape[1] - 1) * windows.dilation[0] + 1
    below = max(0, (each - 1) * step + span - above - data.shape[1])
    data = jnp.pad(data, [(0, 0), (above, below), (0, 0), (0, 0)])
    strips = jnp.concatenate([data[:, k * step : k * step + span] for k in range(each)])
    g = jnp.pad(g, [(0, 0), (0, each * height - rows), (0, 0), (0, 0)])
    g = jnp.swapaxes(g.reshape(n, each, height, columns, filters), 0, 1)
    g = g.reshape(-1, height, columns, filters)
    return to_weight(strips, g, shape, windows._replace(pads=(0, left)))
