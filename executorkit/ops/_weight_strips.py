"""The gradient of a convolution's weight, of few images with few channels: images cut into strips.

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

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ._attrs import Shape
from ._depthwise import conv_output_sizes

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
