"""Reductions, positions of extremes, and the largest entries."""

from __future__ import annotations

from ... import symbol as sym
from ...symbol import Symbol
from .._node_reader import NodeReader, imports, same

_KINDS = {
    "ReduceSum": sym.sum, "ReduceMean": sym.mean, "ReduceMax": sym.max, "ReduceMin": sym.min,
    "ReduceProd": sym.prod,
}  # fmt: skip
_COMPOSED = ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")


@imports(*_KINDS, *_COMPOSED)
def _reduce(r: NodeReader) -> Symbol:
    axes = r.ints("axes", 1)
    if not axes and r.get("noop_with_empty_axes", 0):
        return same(r[0], r.name)
    options = {"axis": axes or None, "keepdims": bool(r.get("keepdims", 1))}
    data, kind = r[0], r.op_type
    if kind in _KINDS:
        return _KINDS[kind](data, **options, name=r.name)
    if kind == "ReduceL1":
        return sym.sum(sym.abs(data), **options, name=r.name)
    if kind == "ReduceLogSum":
        return sym.log(sym.sum(data, **options), name=r.name)
    if kind == "ReduceLogSumExp":
        return sym.log(sym.sum(sym.exp(data), **options), name=r.name)
    if kind == "ReduceSumSquare":
        return sym.sum(sym.square(data), **options, name=r.name)
    return sym.sqrt(sym.sum(sym.square(data), **options), name=r.name)


@imports("ArgMax", "ArgMin")
def _extreme_position(r: NodeReader) -> Symbol:
    if r.get("select_last_index", 0):
        r.refuse("select_last_index=1")
    function = sym.argmax if r.op_type == "ArgMax" else sym.argmin
    position = function(r[0], axis=r.get("axis", 0), keepdims=bool(r.get("keepdims", 1)))
    return sym.cast(position, dtype="int64", name=r.name)


@imports("TopK")
def _topk(r: NodeReader) -> list[Symbol]:
    count = int(r.constant(1).reshape(-1)[0]) if r.has(1) else int(r.get("k"))
    both = sym.topk(
        r[0], axis=r.get("axis", -1), k=count, ret_typ="both", dtype="int64",
        is_ascend=not r.get("largest", 1), name=r.name,
    )  # fmt: skip
    return [both[0], both[1]]


@imports("CumSum")
def _cumsum(r: NodeReader) -> Symbol:
    if r.get("exclusive", 0) or r.get("reverse", 0):
        r.refuse("exclusive or reverse sums")
    return sym.cumsum(r[0], axis=int(r.constant(1).reshape(-1)[0]), name=r.name)
