"""Weight gradients of convolutions of few images, which are cut into tiles.

XLA's own form puts the images in the place of the channels: a vector of a CPU is then as full as
there are images. So tiles of an image that overlap by the kernel serve as further images: strips
along the axis where the kernel is shorter, so that they overlap least, of columns if it is square;
single rows or columns if the kernel has one element there. Data is (N, H, W, C), weight (F,
kernel..., C), the gradient of the result (N, H', W', F).

Measured on two cores, 4 images, beside a loop over rows that copied patches and multiplied them
(im2col), whose copies ran on one core; on one core both take as long:

| channels | filters | pixels    | kernel | im2col  | tiles   |
| -------- | ------- | --------- | ------ | ------- | ------- |
| 32       | 64      | 147 x 147 | 3 x 3  | 42 ms   | 30 ms   |
| 80       | 192     | 73 x 73   | 3 x 3  | 38 ms   | 30 ms   |
| 64       | 64      | 56 x 56   | 3 x 3  | 10 ms   | 6.6 ms  |
| 48       | 64      | 35 x 35   | 5 x 5  | 7.5 ms  | 4.7 ms  |
| 160      | 160     | 17 x 17   | 1 x 7  | 3.1 ms  | 2.3 ms  |
| 256      | 256     | 14 x 14   | 3 x 3  | 5.6 ms  | 5.1 ms  |
| 448      | 384     | 8 x 8     | 3 x 3  | 6.0 ms  | 4.5 ms  |
"""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...schema.attrs import Shape
from ...tracing import is_known
from .conv_dims import ConvDims

#: Number of images and tiles that fill a vector.
_TILES = 8


def tiled_weight_grad(
    data: Shape, weight: Shape, dims: ConvDims, weight_grad: Callable[..., Array]
) -> Callable[..., Array] | None:
    """Returns the weight gradient as ``f(data, g, shape)``, or None where whole images, by
    ``weight_grad(data, g, shape, dims)``, are as good."""
    if dims.layout != "NHWC" or not is_known(*data) or data[0] >= _TILES:
        return None
    axis = 1 if weight[1] < weight[2] else 2
    size = dims.output_sizes(data[1:-1], weight[1:-1])[axis - 1]
    tiles = size if weight[axis] == 1 else min(size, -(-_TILES // data[0]))
    if tiles == 1:
        return None
    return partial(_tiled, dims=dims, axis=axis, tiles=tiles, weight_grad=weight_grad)


def _tiled(
    data: Array, g: Array, shape: Shape, dims: ConvDims, axis: int, tiles: int,
    weight_grad: Callable[..., Array],
) -> Array:  # fmt: skip
    stride, dilation, pad = (x[axis - 1] for x in (dims.strides, dims.dilation, dims.pads))
    width = -(-g.shape[axis] // tiles)
    tiles = -(-g.shape[axis] // width)
    step = width * stride
    span = step - stride + (shape[axis] - 1) * dilation + 1
    data = _resize(data, axis, pad, max(tiles * step, (tiles - 1) * step + span))
    if span <= step:
        strips = _split(data, axis, tiles, step)
    else:
        starts = range(0, tiles * step, step)
        strips = jnp.concatenate([lax.slice_in_dim(data, k, k + span, 1, axis) for k in starts])
    g = _split(_resize(g, axis, 0, tiles * width), axis, tiles, width)
    pads = tuple(0 if k == axis else x for k, x in enumerate(dims.pads, 1))
    return weight_grad(strips, g, shape, dims._replace(pads=pads))


def _resize(x: Array, axis: int, before: int, size: int) -> Array:
    after = size - before - x.shape[axis]
    edges = [(before, after, 0) if k == axis else (0, 0, 0) for k in range(x.ndim)]
    return lax.pad(x, np.zeros((), x.dtype), edges)


def _split(x: Array, axis: int, tiles: int, width: int) -> Array:
    x = x[(slice(None),) * axis + (slice(tiles * width),)]
    x = x.reshape(*x.shape[:axis], tiles, width, *x.shape[axis + 1 :])
    return jnp.moveaxis(x, axis, 0).reshape(-1, *x.shape[1:axis], *x.shape[axis + 1 :])
