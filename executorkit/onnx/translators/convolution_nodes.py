"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from .._node_writer import NodeWriter, Operand
from .._translators import translates


def to_channels_first(w: NodeWriter, data: Operand, rank: int) -> str:
    """Data of ``rank`` axes, channels last, with its channels on axis 1."""
    return w.transpose(data, [0, rank - 1, *range(1, rank - 1)])


def to_channels_last(w: NodeWriter, data: Operand, rank: int) -> str:
    """Data of ``rank`` axes, channels on axis 1, with its channels last."""
    return w.transpose(data, [0, *range(2, rank), 1])


def is_channels_last(layout: str | None) -> bool:
    """True for the layouts NWC, NHWC and NDHWC."""
    return layout is not None and layout.endswith("C")


def per_axis(values: Sequence[int], rank: int, default: int) -> list[int]:
    """An attribute with an entry per spatial axis."""
    return list(values[:rank]) or [default] * rank


@translates("Convolution", "Convolution_v1")
def _convolution(w: NodeWriter) -> str:
    rank = len(w["kernel"])
    last = is_channels_last(w["layout"])
    data, weight, *bias = w.inputs
    pad = per_axis(w["pad"], rank, 0)
    operands: list[Operand] = [data, weight, *bias]
    if last:
        operands[:2] = [to_channels_first(w, x, rank + 2) for x in (data, weight)]
    result = w.op(
        "Conv", *operands, kernel_shape=list(w["kernel"]), strides=per_axis(w["stride"], rank, 1),
        pads=pad * 2, dilations=per_axis(w["dilate"], rank, 1), group=w["num_group"],
    )  # fmt: skip
    return to_channels_last(w, result, rank + 2) if last else result


@translates("Deconvolution")
def _deconvolution(w: NodeWriter) -> str:
    rank = len(w["kernel"])
    last = is_channels_last(w["layout"])
    data, weight, *bias = w.inputs
    operands: list[Operand] = [data, weight, *bias]
    if last:
        operands[:2] = [to_channels_first(w, x, rank + 2) for x in (data, weight)]
    stride, dilate = per_axis(w["stride"], rank, 1), per_axis(w["dilate"], rank, 1)
    pad, adj = per_axis(w["pad"], rank, 0), per_axis(w["adj"], rank, 0)
    if any(w["target_shape"]):
        axes = range(1, rank + 1) if last else range(2, rank + 2)
        if any(data.shape[a] is None for a in axes):
            w.refuse("target_shape with images of a size that varies")
        target = per_axis(w["target_shape"], rank, 0)
        spans = [d * (k - 1) + 1 for k, d in zip(w["kernel"], dilate, strict=True)]
        excess = [
            s * (data.sizes[a] - 1) + k - t
            for s, a, k, t in zip(stride, axes, spans, target, strict=True)
        ]
        pad, adj = [(e + 1) // 2 for e in excess], [e % 2 for e in excess]
    result = w.op(
        "ConvTranspose", *operands, kernel_shape=list(w["kernel"]), strides=stride, pads=pad * 2,
        dilations=dilate, group=w["num_group"], output_padding=adj if any(adj) else None,
    )  # fmt: skip
    return to_channels_last(w, result, rank + 2) if last else result


@translates("_contrib_ModulatedDeformableConvolution")
def _deformable(w: NodeWriter) -> str:
    if w.opset < 19:
        w.refuse("it needs opset_version=19 or newer")
    inputs = w.named_inputs
    rank = len(w["kernel"])
    names = ("data", "weight", "offset", "bias", "mask")
    operands = [inputs.get(name, "") for name in names]
    return w.op(
        "DeformConv", *operands, kernel_shape=list(w["kernel"]), group=w["num_group"],
        strides=per_axis(w["stride"], rank, 1), pads=per_axis(w["pad"], rank, 0) * 2,
        dilations=per_axis(w["dilate"], rank, 1), offset_group=w["num_deformable_group"],
    )  # fmt: skip
