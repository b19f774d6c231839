"""Boxes: anchors, decoding, suppression. ONNX's NonMaxSuppression lists the boxes that stay, MXNet
returns every row, best score first, -1 for dropped ones: boxes are sorted first, and boxes of
different classes moved apart."""

import numpy as np

from .._draft import Length
from .._node_writer import NodeWriter, Operand, translates

#: Score of boxes that take no part, and the score above which they do.
_NO_SCORE, _LOWEST_SCORE = -3e38, -1e38


@translates("_contrib_MultiBoxPrior")
def _multibox_prior(w: NodeWriter) -> str:
    height, width = w.data.shape[2:]
    if height is None or width is None:
        w.refuse("anchors of a feature map of a size that varies")
    (anchors,) = w.evaluate(np.zeros((1, 1, height, width), w.data.dtype))
    return w.array(anchors, w.name)


def _column(w: NodeWriter, rows: Operand, start: int, stop: int) -> str:
    return w.slice(rows, [2], [start], [stop])


def _halves(w: NodeWriter, boxes: Operand) -> tuple[str, str]:
    return _column(w, boxes, 0, 2), _column(w, boxes, 2, 4)


def _centers(w: NodeWriter, corners: Operand) -> tuple[str, str]:
    first, last = _halves(w, corners)
    return w.op("Mul", w.op("Add", first, last), w.scalar(0.5)), w.op("Sub", last, first)


def _corners(w: NodeWriter, middle: Operand, size: Operand) -> str:
    half = w.op("Mul", size, w.scalar(0.5))
    return w.concat([w.op("Sub", middle, half), w.op("Add", middle, half)], 2)


def _decoded(
    w: NodeWriter, offsets: Operand, middle: Operand, size: Operand, limit: float = -1.0
) -> str:
    shift, scale = _halves(w, offsets)
    if limit > 0:
        scale = w.op("Min", scale, w.scalar(limit))
    moved = w.op("Add", w.op("Mul", shift, size), middle)
    return _corners(w, moved, w.op("Mul", w.op("Exp", scale), size))


@translates("_contrib_box_decode")
def _box_decode(w: NodeWriter) -> str:
    data, anchors = w.inputs
    offsets = w.op("Mul", data, w.array(np.array([w[f"std{i}"] for i in range(4)], data.dtype)))
    middle, size = (_centers if w["format"] == "corner" else _halves)(w, anchors)
    return _decoded(w, offsets, middle, size, w["clip"])


@translates("_contrib_box_iou")
def _box_iou(w: NodeWriter) -> str:
    left, right = w.inputs
    lengths = [*w.lengths(left)[:-1], *w.lengths(right)[:-1]]
    rows = w.op("Reshape", left, w.ints(-1, 1, 4))
    columns = w.op("Reshape", right, w.ints(1, -1, 4))
    if w["format"] == "center":
        rows, columns = (_corners(w, *_halves(w, boxes)) for boxes in (rows, columns))
    first = w.op("Max", _column(w, rows, 0, 2), _column(w, columns, 0, 2))
    shared = _area(w, first, w.op("Min", _column(w, rows, 2, 4), _column(w, columns, 2, 4)))
    total = w.op("Add", *(_area(w, *_halves(w, boxes)) for boxes in (rows, columns)))
    union = w.op("Sub", total, shared)
    zero, one = w.scalar(0), w.scalar(1)
    filled = w.op("Greater", union, zero)
    ratio = w.op("Div", shared, w.op("Where", filled, union, one))
    return w.reshape(w.op("Where", filled, ratio, zero), lengths)


def _area(w: NodeWriter, first: Operand, last: Operand) -> str:
    sides = w.op("Max", w.op("Sub", last, first), w.scalar(0))
    return w.op("Mul", _column(w, sides, 0, 1), _column(w, sides, 1, 2))


def _survivors(
    w: NodeWriter, boxes: str, scores: str, kinds: str, threshold: float, lengths: list[Length]
) -> str:
    if kinds:
        low, high = (w.op(f"Reduce{kind}", boxes, keepdims=0) for kind in ("Min", "Max"))
        span = w.op("Add", w.op("Sub", high, low), w.scalar(1))
        boxes = w.op("Add", boxes, w.op("Mul", kinds, span))
    count = w.array(np.array([np.iinfo(np.int32).max], np.int64))
    chosen = w.op(
        "NonMaxSuppression", boxes, w.unsqueeze(scores, 1), count,
        w.array(np.array([threshold], np.float32)),
        w.array(np.array([_LOWEST_SCORE], np.float32)),
    )  # fmt: skip
    places = w.op("Gather", chosen, w.ints(0, 2), axis=1)
    zeros = w.filled(lengths, 0.0, "float32")
    column = w.op("Cast", w.squeeze(w.slice(places, [1], [0], [1]), 1), to=1)
    ones = w.op("Add", w.op("Mul", column, w.scalar(0.0, "float32")), w.scalar(1.0, "float32"))
    return w.op("Greater", w.op("ScatterND", zeros, places, ones), w.scalar(0.5, "float32"))


def _sorted_rows(w: NodeWriter, rows: Operand, keys: str, count: Length) -> tuple[str, str]:
    length = w.length_list([count])
    values, positions = w.split_op("TopK", 2, keys, length, axis=1, largest=1, sorted=1)
    return w.op("GatherND", rows, w.unsqueeze(positions, 2), batch_dims=1), values


@translates("_contrib_MultiBoxDetection")
def _multibox_detection(w: NodeWriter) -> str:
    probabilities, offsets, anchors = w.inputs
    batch, count = w.length(probabilities, 0), w.length(probabilities, 2)
    foreground = w.slice(probabilities, [1], [1], [1 << 62])
    score = w.reduce("Max", foreground, [1], keepdims=False)
    kind = w.cast(w.op("ArgMax", foreground, axis=1, keepdims=0), "float32")
    valid = w.op("Not", w.op("Less", score, w.scalar(w["threshold"])))
    middle, size = _centers(w, anchors)
    variances = w.array(np.array(w["variances"], np.float32))
    shift = w.op("Mul", w.op("Reshape", offsets, w.ints(0, -1, 4)), variances)
    boxes = _decoded(w, shift, middle, size)
    if w["clip"]:
        boxes = w.op("Clip", boxes, w.scalar(0), w.scalar(1))
    rows = w.concat([w.unsqueeze(kind, 2), w.unsqueeze(score, 2), boxes], 2)
    lowest = w.scalar(_NO_SCORE)
    nowhere = w.scalar(-1.0)
    if not 0 < w["nms_threshold"] <= 1:
        rows, kept = _sorted_rows(w, rows, w.cast(valid, "float32"), count)
        inside = w.op("Greater", kept, w.scalar(0.5))
        return w.op("Where", w.unsqueeze(inside, 2), rows, nowhere)
    keys = w.op("Where", valid, score, lowest)
    ranked, keys = _sorted_rows(w, rows, keys, count)
    inside = w.op("Greater", keys, w.scalar(_LOWEST_SCORE))
    if w["nms_topk"] > 0:
        in_front = w.op("Less", w.arange(count), w.scalar(w["nms_topk"], "int64"))
        by_anchor, _ = _sorted_rows(w, rows, w.cast(valid, "float32"), count)
        ranked = w.op("Where", w.unsqueeze(in_front, 1), ranked, by_anchor)
        keys = w.op("Where", in_front, keys, lowest)
    kinds = "" if w["force_suppress"] else _column(w, ranked, 0, 1)
    stays = _survivors(w, _column(w, ranked, 2, 6), keys, kinds, w["nms_threshold"], [batch, count])
    named = w.op("Where", w.unsqueeze(stays, 2), _column(w, ranked, 0, 1), nowhere)
    result = w.concat([named, _column(w, ranked, 1, 6)], 2)
    return w.op("Where", w.unsqueeze(inside, 2), result, nowhere)


@translates("_contrib_box_nms")
def _box_nms(w: NodeWriter) -> list[str]:
    lengths = w.lengths(w.data)
    count, width = lengths[-2], lengths[-1]
    rows = w.reshape(w.data, [-1, count, width])
    at, kind = w["coord_start"], w["id_index"]
    score = w.squeeze(_column(w, rows, w["score_index"], w["score_index"] + 1), 2)
    valid = w.op("Greater", score, w.scalar(w["valid_thresh"]))
    if kind >= 0:
        background = w.op("Equal", _column(w, rows, kind, kind + 1), w.scalar(w["background_id"]))
        valid = w.op("And", valid, w.op("Not", w.squeeze(background, 2)))
    lowest = w.scalar(_NO_SCORE, "float32")
    keys = w.op("Where", valid, w.cast_from(score, w.data.dtype, "float32"), lowest)
    rows, keys = _sorted_rows(w, rows, keys, count)
    if w["topk"] > 0:
        in_front = w.op("Less", w.arange(count), w.scalar(w["topk"], "int64"))
        keys = w.op("Where", in_front, keys, lowest)
    boxes = _column(w, rows, at, at + 4)
    if w["in_format"] == "center":
        boxes = _corners(w, *_halves(w, boxes))
    kinds = "" if kind < 0 or w["force_suppress"] else _column(w, rows, kind, kind + 1)
    product = w.product(lengths[:-2])
    stays = _survivors(
        w, w.cast_from(boxes, w.data.dtype, "float32"), keys,
        w.cast_from(kinds, w.data.dtype, "float32") if kinds else "", w["overlap_thresh"],
        [product, count],
    )  # fmt: skip
    if w["in_format"] != w["out_format"]:
        if w["out_format"] == "center":
            boxes = w.concat(_centers(w, boxes), 2)
        rows = w.concat([_column(w, rows, 0, at), boxes, _column(w, rows, at + 4, 1 << 62)], 2)
    # Survivors to the front, in the order in which they are.
    front = w.op("Where", stays, w.op("Neg", w.cast(w.arange(count), "float32")), lowest)
    rows, kept = _sorted_rows(w, rows, front, count)
    inside = w.op("Greater", kept, w.scalar(_LOWEST_SCORE, "float32"))
    return [w.reshape(w.op("Where", w.unsqueeze(inside, 2), rows, w.scalar(-1.0)), lengths)]
