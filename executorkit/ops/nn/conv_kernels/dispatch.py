"""Convolution and transposed convolution with their gradients: the choice of an algorithm.

| convolution                      | forward       | input gradient        | weight gradient       |
| -------------------------------- | ------------- | --------------------- | --------------------- |
| accelerators                     | XLA           | XLA                   | XLA                   |
| CPU, one group, channels first   | XLA           | XLA                   | XLA                   |
| CPU, one group, channels last    | XLA           | ``input_grad``        | ``weight_grad``       |
| the same, kernel of three rows   | ``winograd``  | ``winograd``          | ``weight_grad``       |
| the same, few windows            | ``columns``   | ``columns``           | ``columns``           |
| the same, few channels           | ``columns``   | ``input_grad``        | ``weight_grad``       |
| CPU, a group per channel         | ``depthwise`` | ``depthwise``         | ``depthwise``         |
| CPU, few groups, channels first  | one per group | one per group         | one per group         |
| CPU, many groups, channels first | XLA           | XLA                   | products of matrices  |
| kernel of one element            | product       | product               | product               |
| with a compiler for C, channels  | ``native``    | ``native``, stride 1  | ``native``            |
| last, float32                    |               |                       |                       |
| the same in prepared inference   | ``winograd``, |                       |                       |
|                                  | ``native``    |                       |                       |

XLA's CPU backend runs grouped convolutions element by element: measured on two cores, the weight
gradient of 32 groups took 3.8 s where a convolution per group takes 4 ms, a depth-wise 3 x 3
convolution 20 ms where a sum of nine shifted products takes 0.4 ms. JAX's derivative of a
transposed convolution has holes on both sides in the weight gradient (300 ms for 5 ms), so
:func:`conv_transpose` states its derivatives itself.

data (N, C, spatial...), weight (F, C / groups, kernel...), result (N, F, spatial...), or in the
order of ``layout``.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...._support.annotations import Arrays, Operands, Tree
from ...schema.attrs import Shape
from ...tensor.derivatives import delay_residuals
from ...tensor.reverse_rules import bilinear_tangent, with_vjp
from ...tracing import at_least, for_platform, is_known, traced_for_fused_kernels, varying_struct
from . import native
from .columns import column_kernels, few_channels, wide_product
from .conv_dims import ConvDims
from .depthwise import depthwise_kernels, shifted_patches
from .input_grad import column_input_grad, shifted_matmul_input_grad
from .native.training import (
    native_forward,
    native_input_grad,
    native_weight_grad,
    of_matrices,
    with_native,
)
from .symbolic_convolutions import (
    has_symbols,
    symbolic_conv,
    symbolic_input_grad,
    symbolic_weight_grad,
)
from .weight_grad import tiled_weight_grad
from .winograd import Winograd, current_winograd, winograd_kernels

#: Maximum number of groups for which one convolution per group is worth its compilation.
_MAX_SPLIT_GROUPS = 8


def xla_conv(data: Array, weight: Array, dims: ConvDims) -> Array:
    if not is_known(*dims.pads):
        return symbolic_conv(data, weight, dims)
    return lax.conv_general_dilated(
        data,
        weight,
        window_strides=dims.strides,
        padding=[(x, x) for x in dims.pads],
        rhs_dilation=dims.dilation,
        dimension_numbers=lax.ConvDimensionNumbers(dims.axes, dims.axes, dims.axes),
        feature_group_count=dims.groups,
    )


def _xla_input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    if has_symbols(shape, dims):
        return symbolic_input_grad(g, weight, shape, dims)
    data = varying_struct(shape, g.dtype, g, weight)
    # Of an axis with kernel 2, stride 2 and padding 1 XLA's simplifier ends the process ("Window
    # dimensions do not match RHS shape") if the kernel is larger than ``g`` on another axis.
    kernel = dims.spatial(weight.shape)
    fatal = [axis == (2, 2, 1) for axis in zip(kernel, dims.strides, dims.pads, strict=True)]
    pads = tuple([0 if f else x for f, x in zip(fatal, dims.pads, strict=True)])
    edges = dims.per_axis((0, 0, 0), (0, 0, 0), [(int(f), int(f), 0) for f in fatal])

    def conv(data: Array) -> Array:
        if any(fatal):
            data = lax.pad(data, np.zeros((), data.dtype), edges)
        return xla_conv(data, weight, dims._replace(pads=pads))

    return jax.linear_transpose(conv, data)(g)[0]


def _xla_weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    if has_symbols(data.shape, dims):
        return symbolic_weight_grad(data, g, shape, dims)
    weight = varying_struct(shape, g.dtype, data, g)
    return jax.linear_transpose(lambda weight: xla_conv(data, weight, dims), weight)(g)[0]


def _per_group(
    function: Callable[..., Array], axes: tuple[int, int], joined: int, dims: ConvDims
) -> Callable[..., Array]:
    one_group = dims._replace(groups=1)

    def grouped(a: Array, b: Array, *shape: Shape) -> Array:
        parts = (jnp.split(x, dims.groups, axis) for x, axis in zip((a, b), axes, strict=True))
        shapes = [
            tuple(n // dims.groups if i == joined else n for i, n in enumerate(s)) for s in shape
        ]
        return jnp.concatenate(
            [function(p, q, *shapes, one_group) for p, q in zip(*parts, strict=True)], joined
        )

    return grouped


def _grouped_weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    # A product of matrices per kernel element.
    n, groups, positions = data.shape[0], dims.groups, math.prod(g.shape[2:])
    columns = g.reshape(n, groups, -1, positions)
    products = [
        jnp.einsum("ngfp,ngcp->gfc", columns, patch.reshape(n, groups, -1, positions))
        for patch in shifted_patches(data, shape[2:], g.shape[2:], dims)
    ]
    return jnp.stack(products, axis=-1).reshape(shape)


def cpu_kernels(
    data: Shape, weight: Shape, dims: ConvDims, winograd: Winograd
) -> tuple[Any, Any, Any]:
    channels = dims.layout.index("C")
    if dims.groups == 1:
        forward, input_grad, weight_grad = column_kernels(data, weight, dims, winograd.prepared)
        by_rows = winograd_kernels(data, weight, dims, winograd)
        forward = forward or by_rows[0] or few_channels(data, weight, dims, winograd.prepared)
        input_grad = (
            input_grad
            or shifted_matmul_input_grad(data, weight, dims)
            or by_rows[1]
            or column_input_grad(data, weight, dims)
        )
        weight_grad = weight_grad or tiled_weight_grad(data, weight, dims, _xla_weight_grad)
        return forward, input_grad, weight_grad
    if weight[0] == data[channels] and weight[channels] == 1:
        return depthwise_kernels(data, weight, dims, winograd.prepared)
    if channels != 1:
        return None, None, None
    if dims.groups <= _MAX_SPLIT_GROUPS:
        return (
            _per_group(xla_conv, (1, 0), 1, dims),
            _per_group(_xla_input_grad, (1, 0), 1, dims),
            _per_group(_xla_weight_grad, (1, 1), 0, dims),
        )
    return None, None, partial(_grouped_weight_grad, dims=dims)


def _for_platform(native: Any, cpu: Any, default: Any, *arrays: Array) -> Array:
    plain = default if cpu is None else partial(for_platform, cpu=cpu, default=default)
    return with_native(native, plain, *arrays)


def _forward(data: Array, weight: Array, dims: ConvDims, winograd: Winograd) -> Array:
    cpu = cpu_kernels(data.shape, weight.shape, dims, winograd)[0]
    native_one = None if winograd.rows else native_forward(data, weight, dims)
    return _for_platform(native_one, cpu, lambda x, w: xla_conv(x, w, dims), data, weight)


def _input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims, winograd: Winograd) -> Array:
    cpu = cpu_kernels(shape, weight.shape, dims, winograd)[1]
    return _for_platform(
        None if winograd.rows else native_input_grad(g, weight, shape, dims),
        cpu and (lambda g, w: cpu(g, w, shape)),
        lambda g, w: _xla_input_grad(g, w, shape, dims),
        g,
        weight,
    )


def _weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    cpu = cpu_kernels(data.shape, shape, dims, Winograd())[2]
    return _for_platform(
        native_weight_grad(data, g, shape, dims),
        cpu and (lambda x, g: cpu(x, g, shape)),
        lambda x, g: _xla_weight_grad(x, g, shape, dims),
        data,
        g,
    )


def is_native(data: Array, weight: Array, dims: ConvDims) -> bool:
    """Tells whether the kernel in C takes this convolution as it is, and not the convolutions of
    Winograd's algorithm."""
    if not traced_for_fused_kernels() or dims.layout != "NHWC" or not is_known(*data.shape):
        return False
    if not data.dtype == weight.dtype == np.float32:
        return False
    filters, *window = weight.shape
    padding = [(x, x) for x in dims.pads]
    facts = data.shape, (*window, filters), dims.strides, padding, dims.dilation, dims.groups
    winograd = current_winograd(data.dtype)
    return (
        native.supports(*facts)
        and not winograd_kernels(data.shape, weight.shape, dims, winograd)[0]
    )


def convolve(data: Array, weight: Array, dims: ConvDims) -> Array:
    winograd = current_winograd(data.dtype)
    if dims.channels_last or has_symbols(data.shape, dims):
        return _convolve(data, weight, dims, winograd)
    if cpu_kernels(data.shape, weight.shape, dims, winograd) == (None,) * 3:
        return xla_conv(data, weight, dims)
    return _convolve(data, weight, dims, winograd)


def _conv_fwd(data: Array, weight: Array, dims: ConvDims, winograd: Winograd) -> tuple[Array, Tree]:
    return _convolve(data, weight, dims, winograd._replace(prepared=False)), (data, weight)


def _conv_bwd(dims: ConvDims, winograd: Winograd, residuals: Tree, g: Array) -> Operands:
    data, weight = residuals
    if dims.channels_last:
        # Most weights are stored channels first: in another order XLA would copy the weight behind
        # the barrier, even for products that read it as it is.
        others = range(1, weight.ndim - 1)
        first = lax.transpose(weight, (0, weight.ndim - 1, *others))
        (data, first), g = delay_residuals((data, first), g)
        weight = lax.transpose(first, (0, *(a + 1 for a in others), 1))
    else:
        (data, weight), g = delay_residuals(residuals, g)
    winograd = winograd._replace(prepared=False)
    return (
        partial(_input_grad, g, weight, data.shape, dims, winograd),
        partial(_weight_grad, data, g, weight.shape, dims),
    )


def _conv_tangent(dims: ConvDims, winograd: Winograd, residuals: Tree, tangents: Tree) -> Array:
    convolve = partial(_convolve, dims=dims, winograd=winograd._replace(prepared=False))
    return bilinear_tangent(convolve, residuals, tangents)


_convolve = with_vjp(_forward, _conv_fwd, _conv_bwd, _conv_tangent, (2, 3))


def conv_transpose(data: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    """Computes the input gradient of :func:`convolve`, of shape ``shape``, as its own operator."""
    return _conv_transpose(data, weight, shape, dims, current_winograd(data.dtype))


def _conv_transpose_fwd(
    data: Array, weight: Array, shape: Shape, dims: ConvDims, winograd: Winograd
) -> tuple[Array, Tree]:
    winograd = winograd._replace(prepared=False)
    return _conv_transpose(data, weight, shape, dims, winograd), (data, weight)


def _conv_transpose_bwd(
    shape: Shape, dims: ConvDims, winograd: Winograd, residuals: object, g: Array
) -> tuple[Array, Array]:
    (data, weight), g = delay_residuals(residuals, g)
    d_data = _forward(g, weight, dims, winograd._replace(prepared=False))
    return d_data, _weight_grad(g, data, weight.shape, dims)


def _conv_transpose_tangent(
    shape: Shape, dims: ConvDims, winograd: Winograd, residuals: Tree, tangents: Arrays
) -> Array:
    winograd = winograd._replace(prepared=False)
    convolve = partial(_conv_transpose, shape=shape, dims=dims, winograd=winograd)
    return bilinear_tangent(convolve, residuals, tangents)


_conv_transpose = with_vjp(
    _input_grad, _conv_transpose_fwd, _conv_transpose_bwd, _conv_transpose_tangent, (2, 3, 4)
)


# A kernel of one element is a product of matrices: data (positions, channels), weight (filters,
# channels), result (positions, filters). Data of more axes comes flattened: with several axes of
# positions, XLA's CPU backend copies the gradient transposed before it multiplies with it, which
# took a tenth of ResNet-50's training.


def _pointwise_weight_grad(g: Array, data: Array) -> Array:
    return wide_product(g, data, (0, 0)).astype(g.dtype)


def _pointwise_weight_grad_transposed(g: Array, data: Array) -> Array:
    # The barrier keeps XLA from undoing the transposition.
    return lax.optimization_barrier(_pointwise_weight_grad(data, g)).T


def _pointwise_bwd(residuals: object, g: Array) -> tuple[Array, Array]:
    # The CPU's product over a common first axis copies its first matrix into another order, so the
    # smaller one should come first: on one core, 12544 positions, 64 channels, 256 filters, 4.8 ms
    # in place of 8.1. Transposing the result costs less if there are more positions than channels.
    (data, weight), g = delay_residuals(residuals, g)
    positions, channels = data.shape

    def weight_grad(data: Array, g: Array) -> Array:
        if channels < weight.shape[0] and at_least(positions, channels + 1, otherwise=True):
            forms = {"cpu": _pointwise_weight_grad_transposed, "default": _pointwise_weight_grad}
            return for_platform(g, data, **forms)
        return _pointwise_weight_grad(g, data)

    def input_grad(g: Array, weight: Array) -> Array:
        return wide_product(g, weight, (1, 0)).astype(g.dtype)

    return (
        with_native(of_matrices(native_input_grad, g, weight, data.shape), input_grad, g, weight),
        with_native(of_matrices(native_weight_grad, data, g, weight.shape), weight_grad, data, g),
    )


def pointwise_matmul(data: Array, weight: Array) -> Array:
    return _pointwise_matmul(data, weight)


def _pointwise(data: Array, weight: Array) -> Array:
    def plain(data: Array, weight: Array) -> Array:
        return wide_product(data, weight, (1, 1)).astype(data.dtype)

    return with_native(of_matrices(native_forward, data, weight), plain, data, weight)


_pointwise_matmul = with_vjp(
    _pointwise,
    lambda data, weight: (pointwise_matmul(data, weight), (data, weight)),
    _pointwise_bwd,
    partial(bilinear_tangent, pointwise_matmul),
)
