"""The gradient of a convolution's weight, of few images: products of matrices, row by row.

XLA's own form transposes data and gradient so that the batch takes the place of the channels: a
vector of a CPU is then as full as the batch is large, and what is transposed is written once more.
Here a loop goes over the rows of the gradient, and multiplies what every element of the kernel
meets there with it; what is copied for that stays in the cache. Where the filters are so many that
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
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import Shape

#: From so many images on, XLA's form is as good.
_IMAGES = 8
#: So many channels are needed: with fewer, the copies are in pieces that are too short.
CHANNELS = 16
#: So many elements a kernel may have: each is compiled.
_ELEMENTS = 32
#: About so many places are multiplied at once, with so many numbers copied for them.
_PLACES, _NUMBERS = 512, 2**20
#: In one turn, up to so many places per filter, with so many numbers copied for them.
_PER_FILTER, _AT_MOST = 4, 2**22


def form(data: Shape, weight: Shape, windows: Any) -> Callable[..., jax.Array] | None:
    """The gradient of the weight as ``f(data, g, shape)``, or None where XLA's is as good."""
    if windows.letters != "NHWC" or data[0] >= _IMAGES or data[-1] < CHANNELS:
        return None
    return partial(_by_rows, windows=windows) if math.prod(weight[1:-1]) <= _ELEMENTS else None


def _rows_at_once(rows: int, places: int, filters: int, numbers: int) -> int:
    """Of so many rows with so many places each; ``numbers`` are copied for every place."""
    if rows * places <= min(_PER_FILTER * filters, _AT_MOST // numbers):
        return rows
    most = max(1, min(_PLACES, _NUMBERS // numbers) // places)
    return math.ceil(rows / math.ceil(rows / most))


def _by_rows(data: jax.Array, g: jax.Array, shape: Shape, windows: Any) -> jax.Array:
    filters, height, width, channels = shape
    n, rows, columns, _ = g.shape
    step, step_along = windows.steps
    dilation, dilation_along = windows.dilation
    at_once = _rows_at_once(rows, n * columns, filters, height * width * channels)
    turns = -(-rows // at_once)
    above, left = windows.pads
    needed = (turns * at_once - 1) * step + (height - 1) * dilation + 1
    below = max(0, needed - above - data.shape[1])
    data = jnp.pad(data, [(0, 0), (above, below), (left, left), (0, 0)])
    g = jnp.pad(g, [(0, 0), (0, turns * at_once - rows), (0, 0), (0, 0)])
    span = (at_once - 1) * step + (height - 1) * dilation + 1

    def turn(number: Any, total: jax.Array) -> jax.Array:
        here = lax.dynamic_slice_in_dim(g, number * at_once, at_once, 1)
        band = lax.dynamic_slice_in_dim(data, number * at_once * step, span, 1)
        met = []
        for down, along in itertools.product(range(height), range(width)):
            top, first = down * dilation, along * dilation_along
            stop = (n, top + (at_once - 1) * step + 1, first + (columns - 1) * step_along + 1)
            part = lax.slice(band, (0, top, first, 0), (*stop, channels), (1, step, step_along, 1))
            met.append(part.reshape(-1, channels))
        return total + lax.dot_general(
            here.reshape(-1, filters), lax.concatenate(met, 1), (((0,), (0,)), ((), ()))
        )

    zero = jnp.zeros((filters, height * width * channels), g.dtype)
    return lax.fori_loop(0, turns, turn, zero).reshape(shape)
