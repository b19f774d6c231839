"""Reductions, positions of extremes, the largest entries, and entries chosen by indices."""

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from .._correspondence import REDUCTIONS, by_onnx_name
from .._node_reader import NodeReader, imports, same


@imports("Gather")
def _gather(r: NodeReader) -> Symbol:
    axis = r.get("axis", 0)
    index = r.values[1]
    if isinstance(index, np.ndarray):
        return _constant_gather(r, axis, index)
    return sym.take(r[0], r[1], axis=axis, mode="wrap", name=r.name)


def _constant_gather(r: NodeReader, axis: int, index: np.ndarray) -> Symbol:
    if index.size == 1:
        first = int(index.reshape(-1)[0])
        entry = sym.slice_axis(r[0], axis=axis, begin=first, end=None if first == -1 else first + 1)
        if index.ndim == 0:
            return sym.squeeze(entry, axis=axis, name=r.name)
        if index.ndim == 1:
            return sym.identity(entry, name=r.name)
    if (index < 0).any():
        (length,) = r.sizes(0, [axis % r.rank(0)])
        index = index % length
    return sym.take(r[0], r.variable(f"{r.name}_indices", index), axis=axis, name=r.name)


def _coordinates(r: NodeReader) -> Symbol:
    rank = r.rank(1)
    return sym.transpose(r[1], axes=(rank - 1, *range(rank - 1)))


@imports("GatherND")
def _gather_nd(r: NodeReader) -> Symbol:
    r.only("batch_dims", 0)
    return sym.gather_nd(r[0], _coordinates(r), name=r.name)


@imports("GatherElements")
def _gather_elements(r: NodeReader) -> Symbol:
    axis = r.get("axis", 0) % r.rank(0)
    if r.sizes(1, [axis]) != [1]:
        r.refuse("more than one index per line")
    return sym.pick(r[0], r[1], axis=axis, keepdims=True, name=r.name)


@imports("OneHot")
def _one_hot(r: NodeReader) -> Symbol:
    if r.get("axis", -1) not in (-1, (r.shapes[0] is not None and len(r.shapes[0]))):
        r.refuse(f"axis={r.get('axis')}")
    depth = int(r.constant(1).reshape(-1)[0])
    off, on = r.constant(2)
    return sym.one_hot(
        r[0], depth=depth, on_value=float(on), off_value=float(off),
        dtype=r.constant(2).dtype.name, name=r.name,
    )  # fmt: skip


@imports("ScatterND")
def _scatter_nd(r: NodeReader) -> Symbol:
    base = r.values[0]
    if not isinstance(base, np.ndarray) or base.any():
        r.refuse("updates of anything but a constant of zeros")
    return sym.scatter_nd(r[2], _coordinates(r), shape=base.shape, name=r.name)


@imports("ReverseSequence")
def _reverse_sequence(r: NodeReader) -> Symbol:
    if r.get("time_axis", 0) != 0 or r.get("batch_axis", 1) != 1:
        r.refuse("axes other than time before batch")
    return sym.SequenceReverse(r[0], r[1], use_sequence_length=True, name=r.name)


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
    r.only("select_last_index", 0)
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
