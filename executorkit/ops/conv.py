"""Convolution and its transpose, in one, two and three dimensions."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import AttributeValueError, ShapeError, explain
from ._attrs import Shape, Tuning
from ._registry import Params, ShapeFacts, register

CudnnTune = Literal["fastest", "limited_workspace", "off"]
Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]


def spatial(name: str, value: Shape, rank: int, default: int) -> Shape:
    """A per-axis attribute, with MXNet's default where it was not given."""
    if not value:
        return (default,) * rank
    if len(value) != rank:
        raise AttributeValueError(
            explain(
                f"attribute {name!r}",
                f"{value} has {len(value)} entries, expected {rank}",
                because=f"kernel has {rank} axes",
            )
        )
    return value


def layout_of(layout: str | None, rank: int) -> str:
    """The letters of the data's axes; channels first unless stated otherwise."""
    if rank not in (1, 2, 3):
        raise AttributeValueError(
            explain("attribute 'kernel'", f"it has {rank} axes, expected 1, 2 or 3")
        )
    layout = layout or {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
    if len(layout) != rank + 2:
        raise AttributeValueError(
            explain("attribute 'layout'", f"{layout!r} does not fit a kernel of {rank} axes")
        )
    return layout


def spatial_axes(layout: str) -> tuple[int, ...]:
    """Positions of the axes of a layout that are neither batch nor channels."""
    return tuple(i for i, letter in enumerate(layout) if letter not in "NC")


def _arranged(layout: str, n: int, c: int, rest: Shape) -> Shape:
    """A shape in the order of ``layout``."""
    places = iter(rest)
    return tuple(n if a == "N" else c if a == "C" else next(places) for a in layout)


def _inputs(p: Params) -> tuple[str, ...]:
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


def _known_data(s: ShapeFacts, p: Params, layout: str) -> Shape | None:
    """The data's shape, after a look at its rank and groups."""
    if s["data"] is None:
        return None
    s.set("data", (0,) * len(layout), because=f"kernel={p.kernel} means data of layout {layout}")
    data: Shape = s["data"]
    for size, what in ((data[layout.index("C")], "channels"), (p.num_filter, "filters")):
        if size % p.num_group:
            raise ShapeError(
                f"{size} {what} cannot be divided into {p.num_group} groups",
                f"data is {data} and num_filter={p.num_filter}",
            )
    return data


def _convolution_fill(s: ShapeFacts, p: Params) -> None:
    rank = len(p.kernel)
    layout = layout_of(p.layout, rank)
    data = _known_data(s, p, layout)
    if data is None:
        return
    channels = data[layout.index("C")]
    because = f"data is {data}, kernel={p.kernel}, num_filter={p.num_filter}"
    if p.num_group > 1:
        because += f", num_group={p.num_group}"
    s.set("weight", _arranged(layout, p.num_filter, channels // p.num_group, p.kernel), because)
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    stride = spatial("stride", p.stride, rank, 1)
    pad = spatial("pad", p.pad, rank, 0)
    dilate = spatial("dilate", p.dilate, rank, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(p.kernel, dilate, strict=True)]
    axes = spatial_axes(layout)
    for i, axis in enumerate(axes):
        if data[axis] and data[axis] + 2 * pad[i] < spans[i]:
            raise ShapeError(
                f"the kernel spans {spans[i]} on axis {axis} of data, which has only "
                f"{data[axis] + 2 * pad[i]} with padding",
                f"data is {data}, kernel={p.kernel}, pad={pad}, dilate={dilate}",
            )
    out = s["out0"]
    if out is None or len(out) != len(layout):
        return
    sizes = list(data)
    sizes[0] = sizes[0] or out[0]
    for i, axis in enumerate(axes):
        if not sizes[axis] and stride[i] == 1 and out[axis]:
            sizes[axis] = out[axis] - 1 + spans[i] - 2 * pad[i]
    s.set("data", sizes)


def _with_bias(out: jax.Array, bias: jax.Array | None, layout: str) -> jax.Array:
    if bias is None:
        return out
    shape = tuple(bias.shape[0] if letter == "C" else 1 for letter in layout)
    return out + bias.reshape(shape)


def _pointwise(data: jax.Array, weight: jax.Array, layout: str) -> jax.Array:
    """A convolution with a kernel of one element, as a matrix product: on CPUs in about two thirds
    of the time, forward and backward.

    Channels first, one product per sample saves transposing the data, but makes a copy of the
    weight per sample, which is worth it only where the weight is small.
    """
    weight = weight.reshape(weight.shape[0], -1)
    if layout[-1] == "C":
        return lax.dot_general(data, weight, (((data.ndim - 1,), (1,)), ((), ())))
    n, c = data.shape[:2]
    columns = data.reshape(n, c, -1)
    if weight.size <= 4 * columns.shape[2]:
        copies = jnp.broadcast_to(weight, (n, *weight.shape))
        out = lax.dot_general(copies, columns, (((2,), (1,)), ((0,), (0,))))
    else:
        out = jnp.moveaxis(lax.dot_general(weight, columns, (((1,), (1,)), ((), ()))), 0, 1)
    return out.reshape(n, weight.shape[0], *data.shape[2:])


@register("Convolution_v1", inputs=_inputs, fill=_convolution_fill)
@register("Convolution", inputs=_inputs, fill=_convolution_fill)
def convolution(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int,
    num_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tuning[CudnnTune | None] = None,
    cudnn_off: Tuning[bool] = False,
    layout: Layout | None = None,
):
    """Convolution (cross-correlation) over one, two or three spatial axes.

    ``out[n, f, i] = bias[f] + sum_ck weight[f, c, k] data[n, c, i stride + k dilate - pad]``

    data (N, C, spatial...), weight (num_filter, C / num_group, kernel...), bias (num_filter,),
    absent with ``no_bias``. Returns (N, num_filter, spatial...), each spatial size
    ``floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1``, in the dtype of data
    (floating). stride and dilate default to 1, pad to 0. ``num_group`` splits channels and
    filters into groups that do not see each other; as many groups as channels is a depth-wise
    convolution. With a channels-last ``layout`` data and result are (N, spatial..., C) and weight
    is (num_filter, kernel..., C / num_group); MXNet has that on GPUs only.
    """
    rank = len(kernel)
    letters = layout_of(layout, rank)
    steps, edges = spatial("stride", stride, rank, 1), spatial("pad", pad, rank, 0)
    if num_group == 1 and max(kernel) == max(steps) == 1 and not any(edges):
        return _with_bias(_pointwise(data, weight, letters), bias, letters)
    weights = letters.replace("N", "O").replace("C", "I")
    out = lax.conv_general_dilated(
        data,
        weight,
        window_strides=steps,
        padding=[(x, x) for x in edges],
        rhs_dilation=spatial("dilate", dilate, rank, 1),
        dimension_numbers=(letters, weights, letters),
        feature_group_count=num_group,
    )
    return _with_bias(out, bias, letters)


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
    data = _known_data(s, p, layout)
    if data is None:
        return
    channels = data[layout.index("C")]
    s.set(
        "weight",
        _arranged(layout, channels, p.num_filter // p.num_group, p.kernel),
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


@register("Deconvolution", inputs=_inputs, fill=_deconvolution_fill)
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
    """Transposed convolution: what :func:`convolution` does to its data's gradient.

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
    return _with_bias(out, bias, letters)
