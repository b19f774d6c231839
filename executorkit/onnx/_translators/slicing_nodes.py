"""Parts of arrays: slices, equal parts, windows of images, reversed axes, steps of sequences."""

import numpy as np

from .._draft import Length
from .._node_writer import NodeWriter, Operand, translates

#: Bounds of slices that mean the end, and the beginning when going backwards.
_LAST, _BEFORE_FIRST = int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min)


@translates("slice")
def _slice(w: NodeWriter) -> Operand:
    begin, end = w["begin"], w["end"]
    count = len(begin)
    steps = [s or 1 for s in w["step"]] + [1] * (count - len(w["step"]))
    starts: list[Length] = []
    ends: list[Length] = []
    for first, last, step in zip(begin, end, steps, strict=False):
        starts.append(first if first is not None else (0 if step > 0 else _LAST))
        ends.append(last if last is not None else (_LAST if step > 0 else _BEFORE_FIRST))
    return w.slice(w.data, list(range(count)), starts, ends, steps)


@translates("slice_axis")
def _slice_axis(w: NodeWriter) -> str:
    end = _LAST if w["end"] is None else w["end"]
    return w.slice(w.data, [w["axis"] % w.data.rank], [w["begin"]], [end])


@translates("slice_like")
def _slice_like(w: NodeWriter) -> str:
    data, like = w.inputs
    axes = [a % data.rank for a in w["axes"] or range(data.rank)]
    return w.slice(data, axes, [0] * len(axes), [w.length(like, a) for a in axes])


@translates("Crop")
def _crop(w: NodeWriter) -> str:
    image = w.data
    size: list[Length] = list(w["h_w"])
    if len(w.inputs) == 2:
        size = [w.length(w.inputs[1], axis) for axis in (2, 3)]
    starts: list[Length] = list(w["offset"])
    if w["center_crop"]:
        starts = [
            w.length_op("Div", w.length_op("Sub", w.length(image, axis), n), 2)
            for axis, n in zip((2, 3), size, strict=True)
        ]
    ends = [w.length_op("Add", start, n) for start, n in zip(starts, size, strict=True)]
    return w.slice(image, [2, 3], starts, ends)


@translates("SliceChannel")
def _slice_channel(w: NodeWriter) -> list[str]:
    axis = w["axis"] % w.data.rank
    count = w["num_outputs"]
    size = w.output.shape[axis] if not w["squeeze_axis"] else 1
    return _equal_parts(w, count, axis) if size is None else _parts(w, [size] * count, axis)


def _equal_parts(w: NodeWriter, count: int, axis: int) -> list[str]:
    if count == 1:
        return [w.data.name]
    number = count if w.opset >= 18 else None
    return w.split_op("Split", count, w.data, axis=axis, num_outputs=number)


def _parts(w: NodeWriter, sizes: list[int], axis: int) -> list[str]:
    parts = w.split(w.data, sizes, axis) if len(sizes) > 1 else [w.data.name]
    return [w.squeeze(part, axis) for part in parts] if w["squeeze_axis"] else parts


@translates("_split_v2")
def _split_v2(w: NodeWriter) -> list[str]:
    axis = w["axis"] % w.data.rank
    if w["squeeze_axis"]:
        return _parts(w, [1] * len(w.outputs), axis)
    sizes = [value.shape[axis] for value in w.outputs]
    fixed = [n for n in sizes if n is not None]
    if len(fixed) == len(sizes):
        return _parts(w, fixed, axis)
    if w["sections"]:
        return _equal_parts(w, w["sections"], axis)
    starts = [*w["indices"]]
    return [
        w.slice(w.data, [axis], [start], [end])
        for start, end in zip(starts, [*starts[1:], _LAST], strict=True)
    ]


@translates("reverse")
def _reverse(w: NodeWriter) -> str:
    axes = [a % w.data.rank for a in w["axis"]]
    back = [-1] * len(axes)
    return w.slice(w.data, axes, back, [_BEFORE_FIRST] * len(axes), back)


@translates("_slice_assign_scalar", "_slice_assign")
def _slice_assign(w: NodeWriter) -> str:
    if not w.data.is_static:
        w.refuse("assignment to a slice of an array whose shape varies")
    numbers = np.arange(int(np.prod(w.data.sizes))).reshape(w.data.sizes)
    index = tuple(
        slice(first, last, step or None)
        for first, last, step in zip(
            w["begin"], w["end"], [*w["step"], *[None] * len(w["begin"])], strict=False
        )
    )
    chosen = numbers[index]
    flat = w.reshape(w.data, [-1])
    if w.operator == "_slice_assign":
        updates = w.reshape(w.inputs[1], [-1])
    else:
        updates = w.filled([chosen.size], w["scalar"], w.data.dtype)
    result = w.op("ScatterElements", flat, w.array(chosen.reshape(-1)), updates, axis=0)
    return w.reshape(result, list(w.data.sizes))


def _steps(w: NodeWriter, axis: int) -> tuple[str, str]:
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
