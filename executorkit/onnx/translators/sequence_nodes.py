"""Sequences of different lengths in one array."""

from __future__ import annotations

from .._node_writer import NodeWriter, Operand
from .._translators import translates


def _steps(w: NodeWriter, axis: int) -> tuple[str, str]:
    """The number of each step, along ``axis`` of two axes, and the lengths along the other."""
    steps = w.unsqueeze(w.arange(w.length(w.data, axis)), 1 - axis)
    return steps, w.unsqueeze(w.indices(w.inputs[1]), axis)


@translates("SequenceMask")
def _sequence_mask(w: NodeWriter) -> Operand:
    if not w["use_sequence_length"]:
        return w.data
    steps, lengths = _steps(w, w["axis"])
    inside = w.unsqueeze(w.op("Less", steps, lengths), *range(2, w.data.rank))
    return w.op("Where", inside, w.data, w.scalar(w["value"]))


@translates("SequenceLast")
def _sequence_last(w: NodeWriter) -> str:
    axis = w["axis"]
    if not w["use_sequence_length"]:
        return w.op("Gather", w.data, w.scalar(-1, "int64"), axis=axis)
    last = w.op("Sub", w.indices(w.inputs[1]), w.scalar(1, "int64"))
    last = w.op("Max", last, w.scalar(0, "int64"))
    order = range(w.data.rank)
    by_batch = w.transpose(w.data, [1, 0, *order[2:]] if axis == 0 else order)
    return w.op("GatherND", by_batch, w.unsqueeze(last, 1), batch_dims=1)


@translates("SequenceReverse")
def _sequence_reverse(w: NodeWriter) -> str:
    if not w["use_sequence_length"]:
        return w.slice(w.data, [0], [-1], [-(1 << 62)], [-1])
    return w.op("ReverseSequence", w.data, w.indices(w.inputs[1]), time_axis=0, batch_axis=1)
