"""Convolutions and transposed convolutions."""

from collections.abc import Sequence
from typing import Any

from .._node_writer import NodeWriter, Operand, translates


def to_channels_first(w: NodeWriter, data: Operand, rank: int) -> str:
    return w.transpose(data, [0, rank - 1, *range(1, rank - 1)])


def to_channels_last(w: NodeWriter, data: Operand, rank: int) -> str:
    return w.transpose(data, [0, *range(2, rank), 1])


def is_channels_last(layout: str | None) -> bool:
    return layout is not None and layout.endswith("C")


def per_axis(values: Sequence[int], rank: int, default: int) -> list[int]:
    return list(values[:rank]) or [default] * rank


def _windows(w: NodeWriter) -> dict[str, Any]:
    rank = len(w["kernel"])
    return {
        "kernel_shape": list(w["kernel"]),
        "strides": per_axis(w["stride"], rank, 1),
        "pads": per_axis(w["pad"], rank, 0) * 2,
        "dilations": per_axis(w["dilate"], rank, 1),
        "group": w["num_group"],
    }


@translates("Convolution", "Convolution_v1", "Deconvolution")
def _convolution(w: NodeWriter) -> str:
    rank = len(w["kernel"]) + 2
    last = is_channels_last(w["layout"])
    data, weight, *bias = w.inputs
    operands: list[Operand] = [data, weight, *bias]
    if last:
        operands[:2] = [to_channels_first(w, x, rank) for x in (data, weight)]
    if w.operator == "Deconvolution":
        axes = range(1, rank - 1) if last else range(2, rank)
        result = w.op("ConvTranspose", *operands, **_transposed_windows(w, axes))
    else:
        result = w.op("Conv", *operands, **_windows(w))
    return to_channels_last(w, result, rank) if last else result


def _transposed_windows(w: NodeWriter, axes: Sequence[int]) -> dict[str, Any]:
    windows, adj = _windows(w), per_axis(w["adj"], len(axes), 0)
    if any(w["target_shape"]):
        if any(w.data.shape[a] is None for a in axes):
            w.refuse("target_shape with images of a size that varies")
        target = per_axis(w["target_shape"], len(axes), 0)
        excess = [
            s * (w.data.sizes[a] - 1) + d * (k - 1) + 1 - t
            for s, a, k, d, t in zip(
                windows["strides"], axes, w["kernel"], windows["dilations"], target, strict=True
            )
        ]
        windows["pads"], adj = [(e + 1) // 2 for e in excess] * 2, [e % 2 for e in excess]
    return windows | {"output_padding": adj if any(adj) else None}


@translates("_contrib_ModulatedDeformableConvolution")
def _deformable(w: NodeWriter) -> str:
    if w.opset < 19:
        w.refuse("it needs opset_version=19 or newer")
    names = ("data", "weight", "offset", "bias", "mask")
    operands = [w.named_inputs.get(name, "") for name in names]
    return w.op("DeformConv", *operands, **_windows(w), offset_group=w["num_deformable_group"])
