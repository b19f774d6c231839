"""Reductions, positions of extremes, and the largest entries."""

from __future__ import annotations

from ... import symbol as sym
from ...symbol import Symbol
from .._correspondence import REDUCTIONS, by_onnx_name
from .._node_reader import NodeReader, imports, same

_KINDS = {f"Reduce{kind}": ours for kind, ours in by_onnx_name(REDUCTIONS).items()}
#: Functions before and after the sum that other reductions are made of.
_COMPOSED = {
    "ReduceL1": (sym.abs, None),
    "ReduceL2": (sym.square, sym.sqrt),
    "ReduceSumSquare": (sym.square, None),
    "ReduceLogSum": (None, sym.log),
    "ReduceLogSumExp": (sym.exp, sym.log),
}


@imports(*_KINDS, *_COMPOSED)
def _reduce(r: NodeReader) -> Symbol:
    axes = r.ints("axes", 1)
    if not axes and r.get("noop_with_empty_axes", 0):
        return same(r[0], r.name)
    options = {"axis": axes or None, "keepdims": bool(r.get("keepdims", 1))}
    before, after = _COMPOSED.get(r.op_type, (None, None))
    data = r[0] if before is None else before(r[0])
    function = getattr(sym, _KINDS.get(r.op_type, "sum"))
    if after is None:
        return function(data, **options, name=r.name)
    return after(function(data, **options), name=r.name)


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
