"""Operators that change shapes and order of axes, and that repeat and join arrays."""

from collections.abc import Sequence

import numpy as np

from .._draft import Length
from .._node_writer import NodeWriter, translates


@translates("Reshape")
def _reshape(w: NodeWriter) -> str:
    shape = w.output.shape
    if shape.count(None) <= 1:
        return w.op("Reshape", w.data, w.ints(*(-1 if n is None else n for n in shape)))
    way = -1 if w["reverse"] else 1
    if not w["shape"]:
        w.refuse("target_shape with several lengths that vary")
    return w.reshape(w.data, _read_codes(w, w.lengths(w.data)[::way], w["shape"][::way])[::way])


def _read_codes(w: NodeWriter, dims: Sequence[Length], codes: Sequence[int]) -> list[Length]:
    lengths: list[Length] = []
    source, at = 0, 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code == -2:
            lengths += dims[source:]
            source = len(dims)
        elif code == -3:
            lengths.append(w.product(dims[source : source + 2]))
            source += 2
        elif code == -4:
            parts = codes[at : at + 2]
            other = w.length_op("Div", dims[source], next((p for p in parts if p > 0), 1))
            lengths += [p if p > 0 else other for p in parts]
            source, at = source + 1, at + 2
        else:
            lengths.append(dims[source] if code == 0 else code)
            source += 1
    return lengths


@translates("reshape_like")
def _reshape_like(w: NodeWriter) -> str:
    left, right = w.inputs

    def ends(side: str, rank: int) -> tuple[int, int]:
        begin, end = w[f"{side}_begin"] or 0, w[f"{side}_end"]
        end = rank if end is None else end
        return begin % rank if begin < 0 else begin, end + rank if end < 0 else end

    (first, last), (other_first, other_last) = ends("lhs", left.rank), ends("rhs", right.rank)
    mine, others = w.lengths(left), w.lengths(right)
    return w.reshape(left, [*mine[:first], *others[other_first:other_last], *mine[last:]])


translates("Flatten")(lambda w: w.op("Flatten", w.data, axis=1))
translates("transpose")(lambda w: w.transpose(w.data, w["axes"] or range(w.data.rank)[::-1]))
translates("expand_dims")(lambda w: w.unsqueeze(w.data, w["axis"] % (w.data.rank + 1)))
translates("depth_to_space")(
    lambda w: w.op("DepthToSpace", w.data, blocksize=w["block_size"], mode="DCR")
)
translates("space_to_depth")(lambda w: w.op("SpaceToDepth", w.data, blocksize=w["block_size"]))
translates("broadcast_to")(
    lambda w: w.op("Expand", w.data, w.length_list([n or 1 for n in w["shape"]]))
)


@translates("SwapAxis")
def _swap_axes(w: NodeWriter) -> str:
    order = list(range(w.data.rank))
    first, second = w["dim1"] % w.data.rank, w["dim2"] % w.data.rank
    order[first], order[second] = second, first
    return w.transpose(w.data, order)


@translates("squeeze")
def _squeeze(w: NodeWriter) -> str:
    rank, axis = w.data.rank, w["axis"]
    if axis is None:
        axes = [a for a, n in enumerate(w.data.shape) if n == 1]
    else:
        axes = sorted(a % rank for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == rank and w.output.rank == 1:
        axes = axes[1:]
    return w.squeeze(w.data, *axes)


@translates("Concat", "_rnn_param_concat")
def _concat(w: NodeWriter) -> str:
    return w.concat(w.inputs, w["dim"] % w.data.rank)


@translates("stack")
def _stack(w: NodeWriter) -> str:
    axis = w["axis"] % (w.data.rank + 1)
    return w.concat([w.unsqueeze(x, axis) for x in w.inputs], axis)


@translates("tile")
def _tile(w: NodeWriter) -> str:
    reps = list(w["reps"])
    rank = max(len(reps), w.data.rank)
    data = w.unsqueeze(w.data, *range(rank - w.data.rank))
    return w.op("Tile", data, w.ints(*[1] * (rank - len(reps)), *reps))


@translates("repeat")
def _repeat(w: NodeWriter) -> str:
    repeats, axis = w["repeats"], w["axis"]
    if axis is None:
        wide = w.op("Tile", w.reshape(w.data, [-1, 1]), w.ints(1, repeats))
        return w.reshape(wide, [-1])
    axis %= w.data.rank
    lengths = w.lengths(w.data)
    reps = [1] * (w.data.rank + 1)
    reps[axis + 1] = repeats
    wide = w.op("Tile", w.unsqueeze(w.data, axis + 1), w.ints(*reps))
    lengths[axis] = w.length_op("Mul", lengths[axis], repeats)
    return w.reshape(wide, lengths)


@translates("broadcast_axis")
def _broadcast_axis(w: NodeWriter) -> str:
    lengths = [1] * w.data.rank
    for axis, size in zip(w["axis"], w["size"], strict=True):
        lengths[axis] = size
    return w.op("Expand", w.data, w.length_list(lengths))


@translates("broadcast_like")
def _broadcast_like(w: NodeWriter) -> str:
    left, right = w.inputs
    if not w["lhs_axes"]:
        return w.op("Expand", left, w.op("Shape", right))
    lengths: list[Length] = [1] * left.rank
    for axis, other in zip(w["lhs_axes"], w["rhs_axes"], strict=True):
        lengths[axis % left.rank] = w.length(right, other % right.rank)
    return w.op("Expand", left, w.length_list(lengths))


@translates("Pad")
def _pad(w: NodeWriter) -> str:
    widths = w["pad_width"]
    value = w.scalar(w["constant_value"]) if w["mode"] == "constant" else ""
    return w.pad(w.data, [*widths[::2], *widths[1::2]], value, w["mode"])


@translates("diag")
def _diag(w: NodeWriter) -> str:
    data, k = w.data, w["k"]
    if not data.is_static:
        w.refuse("a diagonal of matrices of a size that varies")
    if data.rank == 1:
        (ones,) = w.evaluate(np.ones(data.sizes, data.dtype))
        size = data.sizes[0]
        picked = np.where(ones != 0, np.arange(ones.size).reshape(ones.shape), 0)
        positions = np.where(ones != 0, picked // ones.shape[1] - max(-k, 0), 0) % max(size, 1)
        gathered = w.op("Gather", data, w.array(positions), axis=0)
        return w.op("Where", w.array(ones != 0), gathered, w.scalar(0))
    (positions,) = w.evaluate(np.arange(int(np.prod(data.sizes))).reshape(data.sizes))
    return w.op("Gather", w.reshape(data, [-1]), w.array(positions.astype(np.int64)), axis=0)
