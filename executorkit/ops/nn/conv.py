"""Convolution and transposed convolution in one, two and three dimensions."""

import math
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Count, Shape, Tuning
from ..schema.channels_last import LayoutRewrite, layout_with_windows
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from ..schema.traits import CONVOLUTION, FILTERS_FIRST, FILTERS_SECOND, MATMUL
from .conv_kernels import ConvDims, conv_transpose, convolve, is_native, pointwise_matmul, xla_conv

CudnnTune = Literal["fastest", "limited_workspace", "off"]
Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]


def per_axis(name: str, value: Shape, rank: int, default: int) -> Shape:
    if not value:
        return (default,) * rank
    if len(value) != rank:
        problem = f"{value} has {len(value)} entries, expected {rank}"
        raise AttributeValueError(f"attribute {name!r}", problem, because=f"kernel has {rank} axes")
    if min(value) < 1 == default:
        raise AttributeValueError(f"attribute {name!r}", f"{value}, expected positive entries")
    return value


def conv_window(p: Params) -> tuple[Shape, Shape, Shape]:
    defaults = {"stride": 1, "pad": 0, "dilate": 1}
    stride, pad, dilate = (per_axis(n, p[n], len(p.kernel), d) for n, d in defaults.items())
    return stride, dilate, pad


def data_layout(layout: str | None, rank: int) -> str:
    if rank not in (1, 2, 3):
        raise AttributeValueError("attribute 'kernel'", f"it has {rank} axes, expected 1, 2 or 3")
    layout = layout or {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
    if len(layout) != rank + 2:
        problem = f"{layout!r} does not fit a kernel of {rank} axes"
        raise AttributeValueError("attribute 'layout'", problem)
    return layout


def spatial_axes(layout: str) -> tuple[int, ...]:
    return tuple(i for i, letter in enumerate(layout) if letter not in "NC")


def shape_in_layout(layout: str, n: int, c: int, spatial: Shape) -> Shape:
    sizes = iter(spatial)
    return tuple(n if a == "N" else c if a == "C" else next(sizes) for a in layout)


def conv_inputs(p: Params) -> tuple[str, ...]:
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


def checked_data_shape(s: ShapeFacts, p: Params, layout: str) -> Shape | None:
    if s["data"] is None:
        return None
    s.set("data", (0,) * len(layout), because=f"kernel={p.kernel} means data of layout {layout}")
    data: Shape = s["data"]
    for size, what in ((data[layout.index("C")], "channels"), (p.num_filter, "filters")):
        if size % p.num_group:
            problem = f"{size} {what} cannot be divided into {p.num_group} groups"
            raise ShapeError(problem, because=f"data is {data} and num_filter={p.num_filter}")
    return data


def infer_convolution_shape(s: ShapeFacts, p: Params) -> None:
    layout = data_layout(p.layout, len(p.kernel))
    data = checked_data_shape(s, p, layout)
    if data is None:
        return
    channel_axis = layout.index("C")
    if not data[channel_axis] and s["weight"] is not None and len(s["weight"]) == len(layout):
        channels = s["weight"][channel_axis] * p.num_group
        data = (*data[:channel_axis], channels, *data[channel_axis + 1 :])
        s.set("data", data)
    channels = data[channel_axis]
    because = f"data is {data}, kernel={p.kernel}, num_filter={p.num_filter}"
    if p.num_group > 1:
        because += f", num_group={p.num_group}"
    weight = shape_in_layout(layout, p.num_filter, channels // p.num_group, p.kernel)
    s.set("weight", weight, because)
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    stride, dilate, pad = conv_window(p)
    spans = [d * (k - 1) + 1 for k, d in zip(p.kernel, dilate, strict=True)]
    axes = spatial_axes(layout)
    for i, axis in enumerate(axes):
        if data[axis] and data[axis] + 2 * pad[i] < spans[i]:
            raise ShapeError(
                f"the kernel spans {spans[i]} on axis {axis} of data, which has only "
                f"{data[axis] + 2 * pad[i]} with padding",
                because=f"data is {data}, kernel={p.kernel}, pad={pad}, dilate={dilate}",
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


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    data, weight = shapes[:2]
    layout = data_layout(p.layout, len(p.kernel))
    stride, dilate, pad = conv_window(p)
    channels = data[layout.index("C")] if len(data) == len(layout) else 0
    expected = shape_in_layout(layout, p.num_filter, channels // p.num_group, p.kernel)
    if min(p.kernel) < 1 or min(pad) < 0 or weight != expected:
        return None
    if channels % p.num_group or p.num_filter % p.num_group:
        return None
    dims = ConvDims(stride, pad, dilate, p.num_group, layout)
    sizes = dims.output_sizes(dims.spatial(data), p.kernel)
    return (shape_in_layout(layout, data[0], p.num_filter, sizes),) if min(sizes) > 0 else None


def with_bias(out: Array, bias: Array | None, layout: str) -> Array:
    if bias is None:
        return out
    if bias.dtype != out.dtype:
        return out + bias.reshape(tuple(bias.shape[0] if letter == "C" else 1 for letter in layout))
    return lax.add(out, lax.broadcast_in_dim(bias, out.shape, (layout.index("C"),)))


def _pointwise(data: Array, weight: Array, layout: str) -> Array:
    # A kernel of one element is a matrix product, which on CPUs takes about two thirds of the time,
    # forward and backward (other backends get it channels last only, where it needs no
    # transposition). Channels first, one product per sample saves transposing the data but copies
    # the weight per sample, which pays only for a small weight.
    weight = weight.reshape(weight.shape[0], -1)
    if layout[-1] == "C":
        out = pointwise_matmul(data.reshape(-1, data.shape[-1]), weight)
        return out.reshape(*data.shape[:-1], weight.shape[0])
    n, c = data.shape[:2]
    columns = data.reshape(n, c, -1)
    if weight.size <= 4 * columns.shape[2]:
        copies = jnp.broadcast_to(weight, (n, *weight.shape))
        out = lax.dot_general(copies, columns, (((2,), (1,)), ((0,), (0,))))
    else:
        out = jnp.moveaxis(lax.dot_general(weight, columns, (((1,), (1,)), ((), ()))), 0, 1)
    return out.reshape(n, weight.shape[0], *data.shape[2:])


def fully_covered_axes(shape: Shape, kernel: Shape, dims: ConvDims) -> Shape:
    """Returns the spatial axes that the kernel covers whole, in one position (channels first only).

    They become further channels: the input gradient pads the single position of a spatial axis by
    all of the kernel, 600 times the time for the sentences of a text CNN, on CPUs.
    """
    if dims.channels_last:
        return ()
    return tuple(
        axis
        for axis, (k, pad, dilation) in enumerate(
            zip(kernel, dims.pads, dims.dilation, strict=True), start=2
        )
        if shape[axis] == k and not pad and (dilation == 1 or k == 1)
    )


def drop_axes(dims: ConvDims, axes: Shape) -> ConvDims:
    remaining = [i for i in range(len(dims.strides)) if i + 2 not in axes]
    strides, pads, dilation = (tuple(values[i] for i in remaining) for values in dims[:3])
    layout = ("NC", "NCW", "NCHW", "NCDHW")[len(remaining)]
    return ConvDims(strides, pads, dilation, dims.groups, layout)


def fold_into_channels(x: Array, axes: Shape) -> Array:
    x = jnp.moveaxis(x, axes, range(2, 2 + len(axes)))
    return x.reshape(x.shape[0], -1, *x.shape[2 + len(axes) :])


def _single_position_conv(
    data: Array, weight: Array, groups: int, is_transposed: bool = False
) -> Array:
    # Without spatial axes: (N, C) and (F, C / groups), transposed (C, F / groups), give (N, F).
    if groups == 1:
        return lax.dot_general(data, weight, (((1,), (0 if is_transposed else 1,)), ((), ())))
    data = data.reshape(data.shape[0], groups, -1)
    weight = weight.reshape(groups, -1, weight.shape[1])
    product = "ngc,gcf->ngf" if is_transposed else "ngc,gfc->ngf"
    return jnp.einsum(product, data, weight).reshape(data.shape[0], -1)


def _convolution_layout(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    # Two-dimensional convolutions are worth moving their data for, unless their kernel covers an
    # axis. Grouped ones have a channels-last form only if every channel is a group of its own.
    rewrite = layout_with_windows(p, shapes)
    if rewrite is None or len(p.kernel) != 2 or (p.num_group > 1 and shapes[1][1] > 1):
        return None
    pads, dilation = per_axis("pad", p.pad, 2, 0), per_axis("dilate", p.dilate, 2, 1)
    if fully_covered_axes(shapes[0], p.kernel, ConvDims((), pads, dilation, 1, "NCHW")):
        return None
    return rewrite._replace(profitable=True)


_CONVOLUTION: Attrs = {
    "inputs": conv_inputs,
    "infer_shape": infer_convolution_shape,
    "output_shapes": _output_shapes,
    "layout_rule": _convolution_layout,
    "traits": (CONVOLUTION, MATMUL, FILTERS_FIRST),
}


@register("Convolution_v1", **_CONVOLUTION)
@register("Convolution", **_CONVOLUTION, kind="dense")
def convolution(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Count,
    num_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tuning[CudnnTune | None] = None,
    cudnn_off: Tuning[bool] = False,
    layout: Layout | None = None,
):
    """Convolves (cross-correlates) data over one, two or three spatial axes.

    ``out[n, f, i] = bias[f] + sum_ck weight[f, c, k] data[n, c, i stride + k dilate - pad]``

    data (N, C, spatial...), weight (num_filter, C / num_group, kernel...), bias (num_filter,),
    absent with ``no_bias``. Returns (N, num_filter, spatial...), each spatial size
    ``floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1``, in the dtype of data
    (floating). stride and dilate default to 1, pad to 0. ``num_group`` splits channels and filters
    into independent groups; as many groups as channels is a depth-wise convolution. With a
    channels-last ``layout`` data and result are (N, spatial..., C) and weight is
    (num_filter, kernel..., C / num_group); MXNet has that on GPUs only.
    """
    rank = len(kernel)
    axes_layout = data_layout(layout, rank)
    strides, edges = per_axis("stride", stride, rank, 1), per_axis("pad", pad, rank, 0)
    dilation = per_axis("dilate", dilate, rank, 1)
    dims = ConvDims(strides, edges, dilation, num_group, axes_layout)
    if is_native(data, weight, dims):
        return with_bias(xla_conv(data, weight, dims), bias, axes_layout)
    if num_group == 1 and max(kernel) == 1 and not any(edges):
        if axes_layout[-1] == "C" and max(strides) > 1:
            data, strides = data[:, *(slice(None, None, s) for s in strides)], (1,) * rank
        if max(strides) == 1 and (axes_layout[-1] == "C" or jax.default_backend() == "cpu"):
            return with_bias(_pointwise(data, weight, axes_layout), bias, axes_layout)
    covered = fully_covered_axes(data.shape, kernel, dims)
    if covered:
        data, weight = fold_into_channels(data, covered), fold_into_channels(weight, covered)
        dims = drop_axes(dims, covered)
    out = (
        convolve(data, weight, dims)
        if dims.strides
        else _single_position_conv(data, weight, num_group)
    )
    out = lax.expand_dims(out, covered)
    return with_bias(out, bias, axes_layout)


def _transposed_padding(p: Params, sizes: Shape) -> tuple[list[int], list[int], list[int]]:
    # ``target_shape`` overrides pad and adj: half of the surplus (rounded up) is cut off on each
    # side, and one is added back at the end where that was one too many.
    rank = len(p.kernel)
    stride = per_axis("stride", p.stride, rank, 1)
    dilate = per_axis("dilate", p.dilate, rank, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(p.kernel, dilate, strict=True)]
    if not any(p.target_shape):
        return spans, list(per_axis("pad", p.pad, rank, 0)), list(per_axis("adj", p.adj, rank, 0))
    target = per_axis("target_shape", p.target_shape, rank, 0)
    excess = [s * (n - 1) + k - t for s, n, k, t in zip(stride, sizes, spans, target, strict=True)]
    return spans, [(e + 1) // 2 for e in excess], [e % 2 for e in excess]


def _infer_deconvolution_shape(s: ShapeFacts, p: Params) -> None:
    layout = data_layout(p.layout, len(p.kernel))
    data = checked_data_shape(s, p, layout)
    if data is None:
        return
    channels = data[layout.index("C")]
    because = f"data is {data}, kernel={p.kernel}, num_filter={p.num_filter}"
    weight = shape_in_layout(layout, channels, p.num_filter // p.num_group, p.kernel)
    s.set("weight", weight, f"{because}, num_group={p.num_group}")
    s.set("bias", (p.num_filter,), because=f"num_filter={p.num_filter}")
    stride = per_axis("stride", p.stride, len(p.kernel), 1)
    sizes = tuple(data[a] for a in spatial_axes(layout))
    _, pad, adj = _transposed_padding(p, sizes)
    for i, size in enumerate(sizes):
        if not size and any(p.target_shape):
            continue
        if pad[i] < 0:
            problem = f"target_shape={p.target_shape} is too large"
            raise ShapeError(problem, because=f"data is {data}, kernel={p.kernel}, stride={stride}")
        if adj[i] >= stride[i]:
            raise ShapeError(
                f"adj {adj[i]} on spatial axis {i}, expected less than the stride {stride[i]}",
                because=f"target_shape={p.target_shape} and data is {data}"
                if any(p.target_shape)
                else None,
            )


@register(
    "Deconvolution", inputs=conv_inputs, infer_shape=_infer_deconvolution_shape,
    traits=(CONVOLUTION, MATMUL, FILTERS_SECOND), kind="dense",
)  # fmt: skip
def deconvolution(
    data: Array,
    weight: Array,
    bias: Array | None = None,
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
    """Computes a transposed convolution: the input gradient of a convolution.

    data (N, C, spatial...), weight (C, num_filter / num_group, kernel...), bias (num_filter,),
    absent unless ``no_bias=False``. Returns (N, num_filter, spatial...), each spatial size
    ``stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``, in the dtype of data (floating).
    ``adj`` (less than the stride) adds rows at the end. ``target_shape`` states the spatial sizes
    of the result and overrides pad and adj. With a channels-last ``layout`` data and result are
    (N, spatial..., C) and weight is (C, kernel..., num_filter / num_group).
    """
    rank = len(kernel)
    axes_layout = data_layout(layout, rank)
    p = Params(locals())
    strides = per_axis("stride", stride, rank, 1)
    sizes = tuple(data.shape[a] for a in spatial_axes(axes_layout))
    spans, low, extra = _transposed_padding(p, sizes)
    axes = zip(strides, sizes, spans, low, extra, strict=True)
    full = tuple(s * (n - 1) + k - 2 * x + a for s, n, k, x, a in axes)
    shape = shape_in_layout(axes_layout, data.shape[0], num_filter, full)
    dilation = per_axis("dilate", dilate, rank, 1)
    dims = ConvDims(strides, tuple(low), dilation, num_group, axes_layout)
    covered = fully_covered_axes(shape, kernel, dims)
    if not covered:
        return with_bias(conv_transpose(data, weight, shape, dims), bias, axes_layout)
    other_sizes = tuple(n for i, n in enumerate(shape) if i > 1 and i not in covered)
    inner = (shape[0], num_filter * math.prod(shape[i] for i in covered), *other_sizes)
    data, weight = lax.squeeze(data, covered), fold_into_channels(weight, covered)
    out = (
        conv_transpose(data, weight, inner, drop_axes(dims, covered))
        if other_sizes
        else _single_position_conv(data, weight, num_group, is_transposed=True)
    )
    out = out.reshape(shape[0], num_filter, *(shape[i] for i in covered), *other_sizes)
    out = jnp.moveaxis(out, range(2, 2 + len(covered)), covered)
    return with_bias(out, bias, axes_layout)
