"""Sorting and the largest entries."""

from __future__ import annotations

from .._draft import Length
from .._node_writer import NodeWriter, Operand
from .._translators import translates


def _ordered(
    w: NodeWriter, data: Operand, axis: int, count: Length, largest: bool
) -> tuple[str, str]:
    """The first ``count`` entries in order, and their positions."""
    length = w.ints(count) if isinstance(count, int) else count
    values, positions = w.split_op(
        "TopK", 2, data, length, axis=axis, largest=int(largest), sorted=1
    )
    return values, positions


def _flattened(w: NodeWriter) -> tuple[Operand, int, Length]:
    """The data, the axis to sort along and its length; a flat list without an axis."""
    if w["axis"] is None:
        return w.reshape(w.data, [-1]), 0, w.product(w.lengths(w.data))
    axis = w["axis"] % w.data.rank
    return w.data, axis, w.length(w.data, axis)


@translates("sort")
def _sort(w: NodeWriter) -> str:
    data, axis, length = _flattened(w)
    return _ordered(w, data, axis, length, not w["is_ascend"])[0]


@translates("argsort")
def _argsort(w: NodeWriter) -> str:
    data, axis, length = _flattened(w)
    positions = _ordered(w, data, axis, length, not w["is_ascend"])[1]
    return w.cast(positions, w.output.dtype)


@translates("topk")
def _topk(w: NodeWriter) -> list[str]:
    data, axis, length = _flattened(w)
    count = w["k"] if w["k"] >= 1 else length
    values, positions = _ordered(w, data, axis, count, not w["is_ascend"])
    kind = w["ret_typ"]
    if kind == "mask":
        zeros = w.op("Mul", data, w.scalar(0))
        one = w.op("Add", w.op("Mul", values, w.scalar(0)), w.scalar(1))
        mask = w.op("ScatterElements", zeros, positions, one, axis=axis)
        return [w.reshape(mask, w.lengths(w.data)) if w["axis"] is None else mask]
    indices = [w.cast(positions, w["dtype"])] if kind != "value" else []
    return [values, *indices] if kind in ("value", "both") else indices
