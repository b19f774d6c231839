"""Reductions: sums, means, extremes, norms; sorting, and the positions of extremes."""

from .._correspondence import REDUCTIONS
from .._node_writer import NodeWriter, Operand, name_of, translates

_KINDS = REDUCTIONS | {"nansum": "Sum", "nanprod": "Prod", "_square_sum": "SumSquare"}


def _axes(w: NodeWriter, axis: tuple[int, ...] | int | None, exclude: bool = False) -> list[int]:
    rank = w.data.rank
    if axis is None or axis == ():
        return list(range(rank))
    chosen = {a % rank for a in (axis if isinstance(axis, tuple) else (axis,))}
    return [a for a in range(rank) if (a in chosen) != exclude]


def _reduced(w: NodeWriter, kind: str, data: Operand, axes: list[int], keepdims: bool) -> str:
    result = w.reduce(kind, data, axes, keepdims)
    if len(axes) == w.data.rank and not keepdims and w.output.rank == 1:
        return w.unsqueeze(result, 0)
    return result


@translates(*_KINDS)
def _reduce(w: NodeWriter) -> Operand:
    axes = _axes(w, w["axis"], w["exclude"])
    data: Operand = w.data
    if w.operator.startswith("nan"):
        fill = w.scalar(1 if w.operator == "nanprod" else 0)
        data = w.op("Where", w.op("IsNaN", data), fill, data)
    if not axes:
        return data
    if w.data.is_float or w.data.dtype in ("int32", "int64"):
        return _reduced(w, _KINDS[w.operator], data, axes, w["keepdims"])
    total = _reduced(w, _KINDS[w.operator], w.cast(name_of(data), "int64"), axes, w["keepdims"])
    return w.cast_from(total, "int64", w.output.dtype)


@translates("norm")
def _norm(w: NodeWriter) -> str:
    if w["ord"] not in (1, 2):
        w.refuse(f"a norm of order {w['ord']}")
    data = w.cast(w.data, w.output.dtype)
    return _reduced(w, f"L{w['ord']}", data, _axes(w, w["axis"]), w["keepdims"])


@translates("moments")
def _moments(w: NodeWriter) -> list[str]:
    axes = _axes(w, w["axes"])
    distance = w.op("Sub", w.data, w.reduce("Mean", w.data, axes, keepdims=True))
    square = w.op("Mul", distance, distance)
    return [
        _reduced(w, "Mean", w.data, axes, w["keepdims"]),
        _reduced(w, "Mean", square, axes, w["keepdims"]),
    ]


@translates("argmax", "argmin", "argmax_channel")
def _extreme_position(w: NodeWriter) -> str:
    op_type = "ArgMin" if w.operator == "argmin" else "ArgMax"
    data: Operand = w.data
    axis = 1 if w.operator == "argmax_channel" else w["axis"]
    keepdims = w.operator != "argmax_channel" and w["keepdims"]
    if axis is None:
        flat = w.op(op_type, w.reshape(data, [-1]), axis=0, keepdims=1)
        if w.output.rank != 1:
            flat = w.reshape(flat, [1] * w.output.rank)
        return w.cast(flat, w.output.dtype)
    axis %= w.data.rank
    position = w.op(op_type, data, axis=axis, keepdims=int(keepdims))
    if w.data.rank == 1 and w.output.rank == 1 and not keepdims:
        position = w.unsqueeze(position, 0)
    return w.cast(position, w.output.dtype)


def _ordered(w: NodeWriter, k: int) -> tuple[Operand, int, str, str]:
    data: Operand
    if w["axis"] is None:
        data, axis, length = w.reshape(w.data, [-1]), 0, w.product(w.lengths(w.data))
    else:
        axis = w["axis"] % w.data.rank
        data, length = w.data, w.length(w.data, axis)
    count = w.length_list([k if k >= 1 else length])
    largest = int(not w["is_ascend"])
    values, positions = w.split_op("TopK", 2, data, count, axis=axis, largest=largest, sorted=1)
    return data, axis, values, positions


@translates("sort", "argsort")
def _sort(w: NodeWriter) -> str:
    *_, values, positions = _ordered(w, 0)
    return values if w.operator == "sort" else w.cast(positions, w.output.dtype)


@translates("topk")
def _topk(w: NodeWriter) -> list[str]:
    data, axis, values, positions = _ordered(w, w["k"])
    kind = w["ret_typ"]
    if kind == "mask":
        zeros = w.op("Mul", data, w.scalar(0))
        one = w.op("Add", w.op("Mul", values, w.scalar(0)), w.scalar(1))
        mask = w.op("ScatterElements", zeros, positions, one, axis=axis)
        return [w.reshape(mask, w.lengths(w.data)) if w["axis"] is None else mask]
    indices = [w.cast(positions, w["dtype"])] if kind != "value" else []
    return [values, *indices] if kind in ("value", "both") else indices
