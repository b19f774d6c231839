"""Convolutions of data whose height or width is a symbol, and their gradients.

These are JAX's, whose derivatives would need padding by symbolic sizes: its primitive takes such
padding, ``lax.conv_general_dilated`` refuses it.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from ...schema.attrs import Shape
from ...tracing import is_known
from .conv_dims import ConvDims


def has_symbols(shape: Shape, dims: ConvDims) -> bool:
    """Tells whether a spatial size of data, or its padding, is a symbol."""
    return not is_known(*dims.spatial(shape), *dims.pads)


def symbolic_conv(data: Array, weight: Array, dims: ConvDims) -> Array:
    return _conv(
        data, weight, (dims.axes,) * 3, [(x, x) for x in dims.pads], window_strides=dims.strides,
        rhs_dilation=dims.dilation, feature_group_count=dims.groups,
    )  # fmt: skip


def symbolic_input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Array:
    axes, groups = dims.axes, dims.groups
    channels = axes[1]
    sizes = zip(
        dims.spatial(shape), dims.spatial(weight.shape), dims.spatial(g.shape),
        dims.strides, dims.pads, dims.dilation, strict=True,
    )  # fmt: skip
    padding = [(d * (k - 1) - x, n + x - s * (o - 1) - 1) for n, k, o, s, x, d in sizes]
    if groups > 1:  # the filters of a group are channels, of the groups one behind the other
        weight = weight.reshape(groups, -1, *weight.shape[1:])
        weight = lax.collapse(jnp.moveaxis(weight, 0, channels), channels, channels + 2)
    return _conv(
        g, lax.rev(weight, axes[2:]), (axes, _swapped(axes), axes), padding,
        lhs_dilation=dims.strides, rhs_dilation=dims.dilation, feature_group_count=groups,
    )  # fmt: skip


def symbolic_weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    axes = _swapped(dims.axes)
    sizes = zip(
        dims.spatial(data.shape), dims.spatial(shape), dims.spatial(g.shape),
        dims.strides, dims.pads, dims.dilation, strict=True,
    )  # fmt: skip
    padding = [(x, d * (k - 1) + s * (o - 1) + 1 - n - x) for n, k, o, s, x, d in sizes]
    return _conv(
        data, g, (axes, axes, axes), padding, window_strides=dims.dilation,
        rhs_dilation=dims.strides, batch_group_count=dims.groups,
    )  # fmt: skip


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    return spec[1], spec[0], *spec[2:]


def _conv(
    lhs: Array,
    rhs: Array,
    specs: Sequence[Sequence[int]],
    padding: Sequence[Shape],
    **params: object,
) -> Array:
    ones = (1,) * len(padding)
    params = {
        "window_strides": ones, "lhs_dilation": ones, "feature_group_count": 1,
        "batch_group_count": 1, "precision": None, "preferred_element_type": None,
        "out_sharding": None, **params,
    }  # fmt: skip
    numbers = lax.ConvDimensionNumbers(*specs)
    return lax.conv_general_dilated_p.bind(
        lhs, rhs, dimension_numbers=numbers, padding=tuple(padding), **params
    )
