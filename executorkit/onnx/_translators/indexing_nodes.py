"""Entries chosen by indices or conditions. Indices beyond an axis are clipped or wrapped first, as
MXNet does."""

import numpy as np

from .._draft import Length, Value
from .._node_writer import NodeWriter, Operand, translates


def _in_range(w: NodeWriter, index: Value, length: Length, mode: str = "clip") -> str:
    integers = w.indices(index)
    if mode == "wrap":
        size = w.array(np.int64(length)) if isinstance(length, int) else length
        return w.op("Mod", integers, size)
    last = w.length_op("Sub", length, 1)
    high = w.array(np.int64(last)) if isinstance(last, int) else w.squeeze(last, 0)
    return w.op("Clip", integers, w.array(np.int64(0)), high)


@translates("Embedding", "_contrib_SparseEmbedding")
def _embedding(w: NodeWriter) -> str:
    data, weight = w.inputs
    return w.op("Gather", weight, _in_range(w, data, w.length(weight, 0)), axis=0)


@translates("take")
def _take(w: NodeWriter) -> str:
    array, indices = w.inputs
    axis = w["axis"] % array.rank
    return w.op("Gather", array, _in_range(w, indices, w.length(array, axis), w["mode"]), axis=axis)


@translates("pick", "batch_take")
def _pick(w: NodeWriter) -> str:
    data, index = w.inputs
    options = {"axis": 1, "mode": "clip", "keepdims": False} | w.step.params
    axis = options["axis"] % data.rank
    chosen: Operand = _in_range(w, index, w.length(data, axis), options["mode"])
    if index.rank < data.rank:
        chosen = w.unsqueeze(chosen, axis)
    picked = w.op("GatherElements", data, chosen, axis=axis)
    return picked if options["keepdims"] or data.rank == 1 else w.squeeze(picked, axis)


@translates("one_hot")
def _one_hot(w: NodeWriter) -> str:
    hit = w.op("Equal", w.unsqueeze(w.indices(w.data), w.data.rank), w.arange(w["depth"]))
    dtype = w.output.dtype
    return w.op("Where", hit, w.scalar(w["on_value"], dtype), w.scalar(w["off_value"], dtype))


@translates("gather_nd", "scatter_nd")
def _by_coordinates(w: NodeWriter) -> str:
    data, indices = w.inputs
    last = w.transpose(w.indices(indices), [*range(1, indices.rank), 0])
    if w.operator == "gather_nd":
        return w.op("GatherND", data, last)
    return w.op("ScatterND", w.filled(list(w["shape"]), 0, data.dtype), last, data)


@translates("where")
def _where(w: NodeWriter) -> str:
    condition, x, y = w.inputs
    chosen = w.nonzero(condition)
    if condition.rank == 1 and x.rank > 1:
        chosen = w.unsqueeze(chosen, *range(1, x.rank))
    return w.op("Where", chosen, x, y)


@translates("_np_cumsum")
def _cumsum(w: NodeWriter) -> str:
    dtype = w.output.dtype
    wide = dtype if dtype in ("float32", "float64", "int32", "int64") else "float32"
    if np.dtype(dtype).kind in "iu" and wide != dtype:
        wide = "int64"
    data: Operand = w.cast(w.data, wide)
    axis = w["axis"]
    if axis is None:
        data, axis = w.reshape(data, [-1]), 0
    return w.cast_from(w.op("CumSum", data, w.array(np.int64(axis % w.data.rank))), wide, dtype)


@translates("_contrib_index_copy")
def _index_copy(w: NodeWriter) -> str:
    old, index, new = w.inputs
    return w.op("ScatterND", old, w.unsqueeze(w.indices(index), 1), new)


@translates("_contrib_index_array")
def _index_array(w: NodeWriter) -> str:
    if not w.data.is_static:
        w.refuse("the indices of an array whose shape varies")
    axes = w["axes"] or range(w.data.rank)
    grid = np.indices(w.data.sizes)
    return w.array(np.stack([grid[a] for a in axes], axis=-1).astype(np.int64))
