"""Convolutions with a kernel of one element, as products of matrices.

data is (places, channels), weight (filters, channels), the result (places, filters): one product,
and one for each gradient. Data of more axes comes flattened: with several axes of places, XLA's CPU
backend copies the gradient transposed before it multiplies with it, which took a tenth of
ResNet-50's training.

Convolution and its two transposes, grouped or not, in forms that CPUs run well too.

XLA's own forms are taken where they are good: without groups, everywhere, and on accelerators. Its
CPU backend runs grouped ones element by element: measured on two cores, the gradient of the weight
of 32 groups took 3.8 s where a convolution per group takes 4 ms, a depth-wise 3 x 3 convolution 20
ms where a sum of nine shifted products takes 0.4 ms. And the derivative that jax takes of a
transposed convolution has the gradient of the weight as a convolution with holes on both sides (300
ms for 5 ms), so :func:`conv_transpose` states its derivatives itself.

data (N, C, spatial...), weight (F, C / groups, kernel...), result (N, F, spatial...), or as
``letters`` say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ...schema.attrs import Shape
from ...tensor.derivatives import delay_residuals
from . import depthwise as _depthwise
from . import input_grad as _data_turns
from . import weight_grad as _weight_rows
from . import weight_grad as _weight_strips


def _pointwise_matmul(data: jax.Array, weight: jax.Array) -> jax.Array:
    return lax.dot_general(data, weight, (((1,), (1,)), ((), ())))


def _pointwise_weight_grad(g: jax.Array, data: jax.Array) -> jax.Array:
    """The gradient of the weight, (filters, channels)."""
    return lax.dot_general(g, data, (((0,), (0,)), ((), ())))


def _pointwise_weight_grad_transposed(g: jax.Array, data: jax.Array) -> jax.Array:
    """The same as (channels, filters), transposed. The barrier keeps XLA from taking that back."""
    return lax.optimization_barrier(_pointwise_weight_grad(data, g)).T


def _pointwise_bwd(kept: Any, g: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Gradients of data and weight.

    The CPU's product over a common first axis copies its first matrix into another order, so the
    smaller one should come first: measured on one core, 12544 places, 64 channels, 256 filters, 8.1
    ms for 4.8 ms. Transposing the result costs less than that if there are more places than
    channels.
    """
    (data, weight), g = delay_residuals(kept, g)
    places, channels = data.shape
    if channels < min(places, weight.shape[0]):
        to_weight = lax.platform_dependent(
            g, data, cpu=_pointwise_weight_grad_transposed, default=_pointwise_weight_grad
        )
    else:
        to_weight = _pointwise_weight_grad(g, data)
    return lax.dot_general(g, weight, (((1,), (0,)), ((), ()))), to_weight


pointwise_matmul = jax.custom_vjp(_pointwise_matmul)
pointwise_matmul.defvjp(
    lambda data, weight: (pointwise_matmul(data, weight), (data, weight)), _pointwise_bwd
)


#: Up to so many groups, one convolution per group is worth its compilation.
_SPLIT = 8


class ConvDims(NamedTuple):
    """How a kernel moves over the data: hashable, the static part of a convolution."""

    strides: Shape
    pads: Shape
    dilation: Shape
    groups: int
    layout: str


def _xla_conv(data: jax.Array, weight: jax.Array, windows: ConvDims) -> jax.Array:
    layout = windows.layout
    return lax.conv_general_dilated(
        data,
        weight,
        window_strides=windows.strides,
        padding=[(x, x) for x in windows.pads],
        rhs_dilation=windows.dilation,
        dimension_numbers=(layout, layout.replace("N", "O").replace("C", "I"), layout),
        feature_group_count=windows.groups,
    )


def _xla_input_grad(g: jax.Array, weight: jax.Array, shape: Shape, windows: ConvDims) -> jax.Array:
    data = jax.ShapeDtypeStruct(shape, g.dtype)
    return jax.linear_transpose(lambda data: _xla_conv(data, weight, windows), data)(g)[0]


def _xla_weight_grad(data: jax.Array, g: jax.Array, shape: Shape, windows: ConvDims) -> jax.Array:
    weight = jax.ShapeDtypeStruct(shape, g.dtype)
    return jax.linear_transpose(lambda weight: _xla_conv(data, weight, windows), weight)(g)[0]


def _per_group(
    function: Callable[..., jax.Array], axes: tuple[int, int], to: int, windows: ConvDims
) -> Callable[..., jax.Array]:
    """``function`` of two arrays, split along ``axes``, with the results joined along ``to``."""
    one = windows._replace(groups=1)

    def grouped(a: jax.Array, b: jax.Array, *shape: Shape) -> jax.Array:
        parts = (jnp.split(x, windows.groups, axis) for x, axis in zip((a, b), axes, strict=True))
        shapes = [
            tuple(n // windows.groups if i == to else n for i, n in enumerate(s)) for s in shape
        ]
        return jnp.concatenate(
            [function(p, q, *shapes, one) for p, q in zip(*parts, strict=True)], to
        )

    return grouped


def _grouped_weight_grad(
    data: jax.Array, g: jax.Array, shape: Shape, windows: ConvDims
) -> jax.Array:
    """The gradient of a grouped weight: a product of matrices per element of the kernel."""
    n, groups, places = data.shape[0], windows.groups, math.prod(g.shape[2:])
    columns = g.reshape(n, groups, -1, places)
    products = [
        jnp.einsum("ngfp,ngcp->gfc", columns, part.reshape(n, groups, -1, places))
        for part in _depthwise.shifted_patches(data, shape[2:], g.shape[2:], windows)
    ]
    return jnp.stack(products, axis=-1).reshape(shape)


def _cpu_kernels(data: Shape, weight: Shape, windows: ConvDims) -> tuple[Any, Any, Any]:
    """What a CPU runs instead of XLA's forms of this convolution (None: nothing)."""
    channels = windows.layout.index("C")
    if windows.groups == 1:
        to_data = _data_turns.shifted_matmul_input_grad(data, weight, windows)
        by_rows = _weight_rows.im2col_weight_grad(data, weight, windows)
        if by_rows or data[channels] >= _weight_rows.IM2COL_MIN_CHANNELS:
            return None, to_data, by_rows
        return (
            None,
            to_data,
            _weight_strips.tiled_weight_grad(data, weight, windows, _xla_weight_grad),
        )
    if weight[0] == data[channels] and weight[channels] == 1:
        return _depthwise.depthwise_kernels(data, weight, windows)
    if channels != 1:
        return None, None, None
    if windows.groups <= _SPLIT:
        return (
            _per_group(_xla_conv, (1, 0), 1, windows),
            _per_group(_xla_input_grad, (1, 0), 1, windows),
            _per_group(_xla_weight_grad, (1, 1), 0, windows),
        )
    return None, None, partial(_grouped_weight_grad, windows=windows)


def _choose(cpu: Any, other: Any, *arrays: jax.Array) -> jax.Array:
    return (
        other(*arrays) if cpu is None else lax.platform_dependent(*arrays, cpu=cpu, default=other)
    )


def _forward(data: jax.Array, weight: jax.Array, windows: ConvDims) -> jax.Array:
    cpu = _cpu_kernels(data.shape, weight.shape, windows)[0]
    return _choose(cpu, lambda x, w: _xla_conv(x, w, windows), data, weight)


def _input_grad(g: jax.Array, weight: jax.Array, shape: Shape, windows: ConvDims) -> jax.Array:
    cpu = _cpu_kernels(shape, weight.shape, windows)[1]
    return _choose(
        cpu and (lambda g, w: cpu(g, w, shape)),
        lambda g, w: _xla_input_grad(g, w, shape, windows),
        g,
        weight,
    )


def _weight_grad(data: jax.Array, g: jax.Array, shape: Shape, windows: ConvDims) -> jax.Array:
    cpu = _cpu_kernels(data.shape, shape, windows)[2]
    return _choose(
        cpu and (lambda x, g: cpu(x, g, shape)),
        lambda x, g: _xla_weight_grad(x, g, shape, windows),
        data,
        g,
    )


def convolve(data: jax.Array, weight: jax.Array, windows: ConvDims) -> jax.Array:
    """The convolution, with the forms of it and its derivatives that the platform runs best."""
    channels_first = windows.layout[1] == "C"
    if channels_first and _cpu_kernels(data.shape, weight.shape, windows) == (None, None, None):
        return _xla_conv(data, weight, windows)
    return _convolve_with_vjp(data, weight, windows)


def _convolve(data: jax.Array, weight: jax.Array, windows: ConvDims) -> jax.Array:
    return _forward(data, weight, windows)


def _convolve_bwd(windows: ConvDims, kept: Any, g: jax.Array) -> tuple[jax.Array, jax.Array]:
    (data, weight), g = delay_residuals(kept, g)
    to_data = _input_grad(g, weight, data.shape, windows)
    return to_data, _weight_grad(data, g, weight.shape, windows)


_convolve_with_vjp = jax.custom_vjp(_convolve, nondiff_argnums=(2,))
_convolve_with_vjp.defvjp(
    lambda x, w, windows: (_convolve_with_vjp(x, w, windows), (x, w)), _convolve_bwd
)


def _conv_transpose(
    data: jax.Array, weight: jax.Array, shape: Shape, windows: ConvDims
) -> jax.Array:
    """What :func:`convolve` makes of its data's gradient: ``data`` in the place of the result,
    and a result of ``shape`` in the place of the data."""
    return _input_grad(data, weight, shape, windows)


def _conv_transpose_bwd(
    shape: Shape, windows: ConvDims, kept: Any, g: jax.Array
) -> tuple[jax.Array, jax.Array]:
    (data, weight), g = delay_residuals(kept, g)
    return _forward(g, weight, windows), _weight_grad(g, data, weight.shape, windows)


conv_transpose = jax.custom_vjp(_conv_transpose, nondiff_argnums=(2, 3))
conv_transpose.defvjp(
    lambda x, w, shape, windows: (conv_transpose(x, w, shape, windows), (x, w)), _conv_transpose_bwd
)
