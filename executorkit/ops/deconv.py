"""Transposed convolution in one, two and three dimensions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ShapeError
from ._attrs import Count, Shape, Tuning
from ._convolve import ConvDims, conv_transpose
from ._facts import Params, ShapeFacts
from ._registry import register
from .conv import (
    CudnnTune,
    Layout,
    checked_data_shape,
    conv_inputs,
    data_layout,
    drop_axes,
    fold_into_channels,
    fully_covered_axes,
    per_axis,
    shape_in_layout,
    spatial_axes,
    with_bias,
)


def _transposed_padding(p: Params, sizes: Shape) -> tuple[list[int], list[int], list[int]]:
    """Per axis of a transposed convolution: the kernel's span, pad and adj.

    ``target_shape`` overrides pad and adj: what is too much is cut off, half of it (rounded up) on
    each side, and one is added back at the end where that was one too many.
    """
    rank = len(p.kernel)
    stride = per_axis("stride", p.stride, rank, 1)
    dilate = per_axis("dilate", p.dilate, rank, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(p.kernel, dilate, strict=True)]
    if not any(p.target_shape):
        pad = per_axis("pad", p.pad, rank, 0)
        adj = per_axis("adj", p.adj, rank, 0)
        return spans, list(pad), list(adj)
    target = per_axis("target_shape", p.target_shape, rank, 0)
    excess = [s * (n - 1) + k - t for s, n, k, t in zip(stride, sizes, spans, target, strict=True)]
    return spans, [(e + 1) // 2 for e in excess], [e % 2 for e in excess]


def _infer_deconvolution_shape(s: ShapeFacts, p: Params) -> None:
    layout = data_layout(p.layout, len(p.kernel))
    data = checked_data_shape(s, p, layout)
    if data is None:
        return
    channels = data[layout.index("C")]
    s.set(
        "weight",
        shape_in_layout(layout, channels, p.num_filter // p.num_group, p.kernel),
        because=f"data is {data}, kernel={p.kernel}, num_filter={p.num_filter}, "
        f"num_group={p.num_group}",
    )
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    stride = per_axis("stride", p.stride, len(p.kernel), 1)
    sizes = tuple(data[a] for a in spatial_axes(layout))
    _, pad, adj = _transposed_padding(p, sizes)
    for i, size in enumerate(sizes):
        if not size and any(p.target_shape):
            continue
        if pad[i] < 0:
            raise ShapeError(
                f"target_shape={p.target_shape} is too large",
                f"data is {data}, kernel={p.kernel}, stride={stride}",
            )
        if adj[i] >= stride[i]:
            raise ShapeError(
                f"adj {adj[i]} on spatial axis {i}, expected less than the stride {stride[i]}",
                f"target_shape={p.target_shape} and data is {data}"
                if any(p.target_shape)
                else None,
            )


@register("Deconvolution", inputs=conv_inputs, infer_shape=_infer_deconvolution_shape)
def deconvolution(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    adj: Shape = (),
    target_shape: Shape = (),
    num_filter: Count,
    num_group: int = 1,
    workspace: Tuning[int] = 512,
    no_bias: bool = True,
    cudnn_tune: Tuning[CudnnTune | None] = None,
    cudnn_off: Tuning[bool] = False,
    layout: Layout | None = None,
):
    """Transposed convolution: what a convolution does to its data's gradient.

    data (N, C, spatial...), weight (C, num_filter / num_group, kernel...), bias (num_filter,),
    absent unless ``no_bias=False``. Returns (N, num_filter, spatial...), each spatial size
    ``stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``, in the dtype of data (floating).
    ``adj`` (less than the stride) adds rows at the end. ``target_shape`` states the spatial sizes
    of the result and overrides pad and adj. With a channels-last ``layout`` data and result are
    (N, spatial..., C) and weight is (C, kernel..., num_filter / num_group).
    """
    rank = len(kernel)
    letters = data_layout(layout, rank)
    p = Params(kernel=kernel, stride=stride, dilate=dilate, pad=pad, adj=adj,
               target_shape=target_shape)  # fmt: skip
    axes = spatial_axes(letters)
    strides = per_axis("stride", stride, rank, 1)
    sizes = tuple(data.shape[a] for a in axes)
    spans, low, extra = _transposed_padding(p, sizes)
    full = tuple(
        s * (n - 1) + k - 2 * x + a
        for s, n, k, x, a in zip(strides, sizes, spans, low, extra, strict=True)
    )
    shape = shape_in_layout(letters, data.shape[0], num_filter, full)
    dilation = per_axis("dilate", dilate, rank, 1)
    windows = ConvDims(strides, tuple(low), dilation, num_group, letters)
    covered = fully_covered_axes(shape, kernel, windows)
    if not covered:
        return with_bias(conv_transpose(data, weight, shape, windows), bias, letters)
    rest = tuple(n for i, n in enumerate(shape) if i > 1 and i not in covered)
    inner = (shape[0], num_filter * math.prod(shape[i] for i in covered), *rest)
    data, weight = lax.squeeze(data, covered), fold_into_channels(weight, covered)
    out = (
        conv_transpose(data, weight, inner, drop_axes(windows, covered))
        if rest
        else _single_position_conv_transpose(data, weight, num_group)
    )
    out = out.reshape(shape[0], num_filter, *(shape[i] for i in covered), *rest)
    out = jnp.moveaxis(out, range(2, 2 + len(covered)), covered)
    return with_bias(out, bias, letters)


def _single_position_conv_transpose(data: jax.Array, weight: jax.Array, groups: int) -> jax.Array:
    """A transposed convolution of single positions: (N, C) and (C, F / groups) give (N, F)."""
    if groups == 1:
        return lax.dot_general(data, weight, (((1,), (0,)), ((), ())))
    data = data.reshape(data.shape[0], groups, -1)
    weight = weight.reshape(groups, -1, weight.shape[1])
    return jnp.einsum("ngc,gcf->ngf", data, weight).reshape(data.shape[0], -1)
