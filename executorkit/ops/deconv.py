"""Transposed convolution in one, two and three dimensions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ShapeError
from ._attrs import Shape, Tuning
from ._registry import Params, ShapeFacts, register
from .conv import (
    CudnnTune,
    Layout,
    arranged,
    conv_inputs,
    known_data,
    layout_of,
    spatial,
    spatial_axes,
    with_bias,
)


def _transposed_padding(p: Params, sizes: Shape) -> tuple[list[int], list[int], list[int]]:
    """Per axis of a transposed convolution: the kernel's span, pad and adj.

    ``target_shape`` overrides pad and adj: what is too much is cut off, half of it (rounded up) on
    each side, and one is added back at the end where that was one too many.
    """
    rank = len(p.kernel)
    stride = spatial("stride", p.stride, rank, 1)
    dilate = spatial("dilate", p.dilate, rank, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(p.kernel, dilate, strict=True)]
    if not any(p.target_shape):
        pad = spatial("pad", p.pad, rank, 0)
        adj = spatial("adj", p.adj, rank, 0)
        return spans, list(pad), list(adj)
    target = spatial("target_shape", p.target_shape, rank, 0)
    excess = [s * (n - 1) + k - t for s, n, k, t in zip(stride, sizes, spans, target, strict=True)]
    return spans, [(e + 1) // 2 for e in excess], [e % 2 for e in excess]


def _deconvolution_fill(s: ShapeFacts, p: Params) -> None:
    layout = layout_of(p.layout, len(p.kernel))
    data = known_data(s, p, layout)
    if data is None:
        return
    channels = data[layout.index("C")]
    s.set(
        "weight",
        arranged(layout, channels, p.num_filter // p.num_group, p.kernel),
        because=f"data is {data}, kernel={p.kernel}, num_filter={p.num_filter}, "
        f"num_group={p.num_group}",
    )
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    stride = spatial("stride", p.stride, len(p.kernel), 1)
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


def _swap_groups(weight: jax.Array, groups: int, layout: str) -> jax.Array:
    """(C, filters / groups, ...) to (filters, C / groups, ...), kernels mirrored."""
    rest = spatial_axes(layout)
    weight = jnp.flip(weight, rest)
    c, f = 0, layout.index("C")
    if groups == 1:
        return jnp.swapaxes(weight, c, f)
    weight = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    weight = jnp.swapaxes(weight, c + 1, f + 1)
    return weight.reshape(-1, *weight.shape[2:])


@register("Deconvolution", inputs=conv_inputs, fill=_deconvolution_fill)
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
    num_filter: int,
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
    letters = layout_of(layout, rank)
    weights = letters.replace("N", "O").replace("C", "I")
    p = Params(kernel=kernel, stride=stride, dilate=dilate, pad=pad, adj=adj,
               target_shape=target_shape)  # fmt: skip
    sizes = tuple(data.shape[a] for a in spatial_axes(letters))
    spans, low, extra = _transposed_padding(p, sizes)
    out = lax.conv_general_dilated(
        data,
        _swap_groups(weight, num_group, letters),
        window_strides=(1,) * rank,
        padding=[(k - 1 - x, k - 1 - x + a) for k, x, a in zip(spans, low, extra, strict=True)],
        lhs_dilation=spatial("stride", stride, rank, 1),
        rhs_dilation=spatial("dilate", dilate, rank, 1),
        dimension_numbers=(letters, weights, letters),
        feature_group_count=num_group,
    )
    return with_bias(out, bias, letters)
