"""Convolutions whose kernel is larger than the data: one product of matrices.

XLA's CPU backend leaves such convolutions to a loop over single numbers. Each window is copied into
a row of a matrix instead. Measured on one core, as many filters as channels:

| images | pixels | kernel | channels | XLA     | columns | input gradient: XLA | columns |
| ------ | ------ | ------ | -------- | ------- | ------- | ------------------- | ------- |
| 1      | 2 x 2  | 3 x 3  | 512      | 16 ms   | 0.4 ms  | 7.0 ms              | 0.2 ms  |
| 4      | 2 x 2  | 3 x 3  | 512      | 51 ms   | 0.9 ms  | 49 ms               | 0.7 ms  |
| 4      | 4 x 4  | 5 x 5  | 256      | 80 ms   | 1.4 ms  | 83 ms               | 1.3 ms  |
| 1      | 1 x 1  | 3 x 3  | 512      | 4.0 ms  | 0.2 ms  | 0.7 ms              | 0.2 ms  |
| 1      | 2 x 64 | 3 x 3  | 256      | no difference                                  ||||
"""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...schema.attrs import Shape
from ...tracing import is_known, varying_struct
from .conv_dims import ConvDims
from .depthwise import shifted_patches

#: Maximum number of elements of a kernel, each of which is a slice to compile, and of the matrix of
#: windows. (17 x 17 took 8 s to compile in place of 0.2.)
_MAX_KERNEL, _MAX_ELEMENTS = 49, 2**24


def column_kernels(
    data: Shape, weight: Shape, dims: ConvDims
) -> tuple[Callable[..., Array] | None, Callable[..., Array] | None]:
    """Returns forward ``f(data, weight)`` and input gradient ``f(g, weight, shape)``; None where
    the kernel fits into the data, the layout is another one, or the matrix would be too large."""
    if dims.layout != "NHWC" or not is_known(*data[1:-1]):
        return None, None
    axes = zip(data[1:-1], weight[1:-1], dims.dilation, strict=True)
    if not any((kernel - 1) * step >= size for size, kernel, step in axes):
        return None, None
    windows = math.prod(dims.output_sizes(data[1:-1], weight[1:-1]))
    images = data[0] if is_known(data[0]) else 1
    elements = math.prod(weight[1:-1])
    if elements > _MAX_KERNEL or images * windows * elements * data[-1] > _MAX_ELEMENTS:
        return None, None
    return partial(_convolve_columns, dims=dims), partial(_column_input_grad, dims=dims)


def _convolve_columns(data: Array, weight: Array, dims: ConvDims) -> Array:
    kernel = weight.shape[1:-1]
    out = dims.output_sizes(data.shape[1:-1], kernel)
    windows = jnp.concatenate(list(shifted_patches(data, kernel, out, dims)), -1)
    products = lax.dot_general(
        windows, weight.reshape(weight.shape[0], math.prod(weight.shape[1:])),
        (((windows.ndim - 1,), (1,)), ((), ())),
        preferred_element_type=jnp.promote_types(data.dtype, "float32"),
    )  # fmt: skip
    return products.astype(data.dtype)


def _column_input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    data = varying_struct(shape, g.dtype, g, weight)
    return jax.linear_transpose(lambda data: _convolve_columns(data, weight, dims), data)(g)[0]
