"""Convolutions with few windows: products of matrices.

Each window is copied into a row of a matrix, in the weight's own order (channels, then elements of
the kernel), so that neither a weight nor its gradient is transposed: with fewer windows than
filters the windows are the smaller of the two. XLA's CPU backend computes number by number where
the kernel is larger than the data, or than the gradient that it multiplies. Measured with all
transpositions, XLA's form and columns, milliseconds of processor time:

| images | pixels | stride | channels | filters | forward    | input gradient | weight gradient |
| ------ | ------ | ------ | -------- | ------- | ---------- | -------------- | --------------- |
| 8      | 2 x 2  | 1      | 512      | 512     | 139, 2.7   | 49, 1.8        | 3.2, 1.9        |
| 8      | 4 x 4  | 2      | 256      | 512     | 1.6, 1.1   | 33, 1.1        | 1.6, 1.1        |
| 8      | 4 x 4  | 1      | 256      | 256     | 1.8, 2.0   | 1.8, 1.7       | 1.9, 2.0        |
| 4      | 7 x 7  | 1      | 512      | 512     | 12.9, 11.4 | 12.5, 10.5     | 11.8, 10.3      |
| 8      | 8 x 8  | 1      | 128      | 128     | 1.7, 2.4   | 1.7, 1.8       | 1.7, 2.5        |

Networks for pictures begin with few channels, which XLA packs number by number. Forward, windows
along one axis after the other:

| images | pixels    | kernel | stride | channels | filters | XLA's, columns |
| ------ | --------- | ------ | ------ | -------- | ------- | -------------- |
| 1      | 224 x 224 | 3 x 3  | 2      | 3        | 32      | 1.1, 0.6       |
| 4      | 224 x 224 | 3 x 3  | 2      | 3        | 64      | 5.3, 4.0       |
| 1      | 224 x 224 | 7 x 7  | 2      | 3        | 64      | 4.3, 4.9       |
| 64     | 28 x 28   | 5 x 5  | 1      | 1        | 20      | 3.1, 1.7       |
| 8      | 40 x 40   | 5 x 5  | 1      | 3        | 32      | 1.4, 0.95      |
| 128    | 32 x 32   | 3 x 3  | 1      | 3        | 16      | 9.6, 5.4       |
| 1      | 224 x 224 | 3 x 3  | 1      | 3        | 64      | 5.1, 4.0       |
| 4      | 224 x 224 | 3 x 3  | 1      | 3        | 64      | 45, 58         |
| 8      | 56 x 56   | 3 x 3  | 1      | 8        | 32      | 2.2, 2.2       |
| 1      | 112 x 112 | 3 x 3  | 1      | 16       | 64      | 3.0, 4.2       |

In prepared inference, strided ones with up to 32 filters are one loop that sums products, without
columns: 2.5 % less of a MobileNet v2's processor time for one picture.
"""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...schema.attrs import Shape
from ...tracing import is_known, varying_struct
from .conv_dims import ConvDims
from .depthwise import padded, shifted_patches, shifted_products_p

#: Maximum number of elements of a kernel, each of which is a slice to compile, and of the matrix of
#: windows. (17 x 17 took 8 s to compile in place of 0.2.)
_MAX_KERNEL, _MAX_ELEMENTS = 49, 2**24
#: The same for windows of few channels; numbers of elements by the maximum number of channels.
_FEW_MAX_KERNEL, _FEW_MAX_ELEMENTS = 25, ((4, 2**22), (8, 2**20))
#: The minimum with stride 1: fewer elements take as long in XLA's form (8 x 8 pixels, 3 channels:
#: 24 us), which compiles in half the processor time (39 and 82 ms).
_FEW_MIN_ELEMENTS = 2**11
#: Maximum number of terms and of filters of a sum of products in place of a product of matrices.
_FEW_TERMS, _FEW_FILTERS = 27, 32

Kernels = tuple[
    Callable[..., Array] | None, Callable[..., Array] | None, Callable[..., Array] | None
]


def column_kernels(data: Shape, weight: Shape, dims: ConvDims, prepared: bool) -> Kernels:
    """Returns forward ``f(data, weight)``, input gradient ``f(g, weight, shape)`` and weight
    gradient ``f(data, g, shape)``; None where another form is as good: if the weight is
    ``prepared``, its transpositions cost nothing."""
    if dims.layout != "NHWC" or not is_known(*data[1:-1]):
        return None, None, None
    sizes, kernel = data[1:-1], weight[1:-1]
    out = dims.output_sizes(sizes, kernel)
    images = data[0] if is_known(data[0]) else 1
    windows, elements = images * math.prod(out), math.prod(kernel)
    if not 1 < elements <= _MAX_KERNEL or windows * elements * data[-1] > _MAX_ELEMENTS:
        return None, None, None
    few = not prepared and is_known(data[0]) and 2 * windows <= weight[0]
    larger = any((k - 1) * d >= n for n, k, d in zip(sizes, kernel, dims.dilation, strict=True))
    input_grad = few or larger or any(k > n for n, k in zip(out, kernel, strict=True))
    return (
        partial(_convolve_columns, dims=dims) if few or larger else None,
        partial(_column_input_grad, dims=dims) if input_grad else None,
        partial(_column_weight_grad, dims=dims) if few or larger else None,
    )


def few_channels(
    data: Shape, weight: Shape, dims: ConvDims, prepared: bool
) -> Callable[..., Array] | None:
    """Returns forward ``f(data, weight)`` for convolutions of few channels."""
    if dims.layout != "NHWC" or not is_known(*data):
        return None
    windows, kernel = dims.output_sizes(data[1:-1], weight[1:-1]), math.prod(weight[1:-1])
    elements = data[0] * math.prod(windows) * kernel * data[-1]
    largest = next((size for most, size in _FEW_MAX_ELEMENTS if data[-1] <= most), 0)
    strided = max(dims.strides) > 1
    least = 1 if strided else _FEW_MIN_ELEMENTS
    if not (1 < kernel <= _FEW_MAX_KERNEL and least <= elements <= largest):
        return None
    if prepared and strided and weight[0] <= _FEW_FILTERS and kernel * data[-1] <= _FEW_TERMS:
        return partial(_sum_few_channels, dims=dims, out=windows)
    return partial(_convolve_few_channels, dims=dims)


def _sum_few_channels(data: Array, weight: Array, dims: ConvDims, out: Shape) -> Array:
    # A depth-wise convolution of the data, broadcast to the filters, over one more axis, the
    # channels. The barriers keep the padding and the sum out of every loop that reads them.
    filters, dtype = weight.shape[0], jnp.promote_types(data.dtype, "float32")
    wide = lax.optimization_barrier(padded(data, dims)).astype(dtype)
    result = shifted_products_p.bind(
        lax.broadcast_in_dim(wide, (*wide.shape, filters), range(wide.ndim)),
        weight.reshape(filters, math.prod(weight.shape[1:])).T.astype(dtype),
        window=weight.shape[1:],
        strides=(*dims.strides, 1),
        dilation=(*dims.dilation, 1),
        out=(*out, 1),
        channels=data.ndim,
    )
    return lax.optimization_barrier(lax.squeeze(result, (data.ndim - 1,)).astype(data.dtype))


def _convolve_few_channels(data: Array, weight: Array, dims: ConvDims) -> Array:
    # Windows along one axis after the other: few slices, of longer and longer rows.
    windows, last = padded(data, dims), data.ndim - 1
    out = dims.output_sizes(data.shape[1:-1], weight.shape[1:-1])
    for axis in range(last - 1, 0, -1):
        stride, step = dims.strides[axis - 1], dims.dilation[axis - 1]
        starts = range(0, step * weight.shape[axis], step)
        length = stride * (out[axis - 1] - 1) + 1
        parts = [lax.slice_in_dim(windows, i, i + length, stride, axis) for i in starts]
        windows = lax.optimization_barrier(lax.concatenate(parts, last))
    matrix = weight.reshape(weight.shape[0], math.prod(weight.shape[1:]))
    return wide_product(windows, matrix, (last, 1)).astype(data.dtype)


def _columns(data: Array, kernel: Shape, dims: ConvDims) -> Array:
    # (windows of all images, channels times elements of the kernel), copied by one gather.
    out = dims.output_sizes(data.shape[1:-1], kernel)
    data = padded(data, dims)
    n, *sizes, channels = data.shape
    positions = np.arange(math.prod(sizes), dtype=np.int32).reshape(sizes)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dims.dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(positions, span)
    windows = windows[tuple([slice(None, None, s) for s in dims.strides])]
    windows = windows[(..., *(slice(None, None, d) for d in dims.dilation))]
    flat = data.reshape(n, positions.size, channels)
    rows = flat.at[:, windows.reshape(-1)].get(mode="promise_in_bounds")
    elements = math.prod(kernel)
    rows = rows.reshape(n * math.prod(out), elements, channels).swapaxes(1, 2)
    return lax.optimization_barrier(rows).reshape(-1, channels * elements)


def _matrix(weight: Array) -> Array:
    return jnp.moveaxis(weight, -1, 1).reshape(weight.shape[0], math.prod(weight.shape[1:]))


def wide_product(a: Array, b: Array, over: tuple[int, int]) -> Array:
    # On CPUs a result of 16 bits takes twice the time of one of 32.
    dtype = a.dtype
    if jnp.issubdtype(dtype, jnp.floating):
        dtype = jnp.promote_types(dtype, "float32")
    numbers = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(a, b, numbers, preferred_element_type=dtype)


def _convolve_columns(data: Array, weight: Array, dims: ConvDims) -> Array:
    kernel = weight.shape[1:-1]
    out = dims.output_sizes(data.shape[1:-1], kernel)
    product = wide_product(_columns(data, kernel, dims), _matrix(weight), (1, 1))
    return product.reshape(data.shape[0], *out, weight.shape[0]).astype(data.dtype)


def _column_input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    kernel, out = weight.shape[1:-1], g.shape[1:-1]
    products = wide_product(g.reshape(-1, g.shape[-1]), _matrix(weight), (1, 0))
    products = products.reshape(*g.shape[:-1], shape[-1], math.prod(kernel))
    parts = [products[..., k] for k in range(products.shape[-1])]
    data = varying_struct(shape, products.dtype, g, weight)
    slices = jax.linear_transpose(lambda x: list(shifted_patches(x, kernel, out, dims)), data)
    return slices(parts)[0].astype(g.dtype)


def _column_weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    columns = _columns(data, shape[1:-1], dims)
    product = wide_product(g.reshape(-1, g.shape[-1]), columns, (0, 0))
    product = product.reshape(shape[0], shape[-1], *shape[1:-1])
    return jnp.moveaxis(product, 1, -1).astype(g.dtype)
