"""The gradient of a convolution's weight where images are large: products of matrices, row by row.

XLA's own form transposes data and gradient so that the batch takes the place of the channels, which
costs more than the products do where few images have many pixels. Here a loop goes over the rows of
the gradient, and multiplies what every element of the kernel meets there with it; what is copied
for that stays in the cache. Measured on two cores, one image, as many filters as channels, kernel
3 x 3:

| channels | pixels    | XLA    | rows  |
| -------- | --------- | ------ | ----- |
| 64       | 300 x 300 | 137 ms | 77 ms |
| 128      | 150 x 150 | 89 ms  | 50 ms |
| 256      | 75 x 75   | 64 ms  | 51 ms |
| 64       | 56 x 56   | no difference  ||

Data is (N, H, W, C), weight (F, kernel..., C), the gradient of the result (N, H', W', F).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import Shape
from ._depthwise import out_sizes

#: From so many places in an image of the result on.
_LARGE = 4096
#: So many channels are needed: with fewer, products of rows are too small.
_CHANNELS = 16
#: About so many places are multiplied at once.
_PLACES = 512


def form(data: Shape, weight: Shape, windows: Any) -> Callable[..., jax.Array] | None:
    """The gradient of the weight as ``f(data, g, shape)``, or None where XLA's is as good."""
    if windows.letters != "NHWC" or data[-1] < _CHANNELS:
        return None
    rows, columns = out_sizes(data[1:-1], weight[1:-1], windows)
    return partial(_by_rows, windows=windows) if rows * columns >= _LARGE else None


def _by_rows(data: jax.Array, g: jax.Array, shape: Shape, windows: Any) -> jax.Array:
    filters, height, width, channels = shape
    n, rows, columns, _ = g.shape
    step, step_along = windows.steps
    dilation, dilation_along = windows.dilation
    at_once = max(1, min(rows, _PLACES // (n * columns)))
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
