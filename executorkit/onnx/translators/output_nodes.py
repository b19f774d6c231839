"""Losses in inference form, without their labels, and softmax."""

from __future__ import annotations

from .._node_writer import NodeWriter, Operand
from .._translators import translates


@translates(
    "LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", "MakeLoss", "make_loss",
    reads=("data",),
)  # fmt: skip
def _data(w: NodeWriter) -> Operand:
    return w.data


@translates("LogisticRegressionOutput", reads=("data",))
def _logistic(w: NodeWriter) -> str:
    return w.op("Sigmoid", w.data)


@translates("SoftmaxOutput", reads=("data",))
def _softmax_output(w: NodeWriter) -> str:
    if w["multi_output"]:
        return w.op("Softmax", w.data, axis=1)
    if w["preserve_shape"] or w.data.rank == 2:
        return w.op("Softmax", w.data, axis=w.data.rank - 1)
    lengths = w.lengths(w.data)
    flat = w.op("Softmax", w.op("Flatten", w.data, axis=1), axis=1)
    return w.reshape(flat, lengths)


@translates("SoftmaxActivation")
def _softmax_activation(w: NodeWriter) -> str:
    axis = 1 if w["mode"] == "channel" else w.data.rank - 1
    return w.op("Softmax", w.data, axis=axis)


@translates("softmax", "softmin", "log_softmax")
def _softmax(w: NodeWriter) -> str:
    axis = w["axis"] % w.data.rank
    dtype = w.data.dtype if w.data.is_float else w.output.dtype
    data: Operand = w.cast(w.data, dtype)
    if w.operator == "softmin":
        data = w.op("Neg", data)
    if w["temperature"] not in (None, 1.0):
        data = w.op("Div", data, w.scalar(w["temperature"], dtype))
    op_type = "LogSoftmax" if w.operator == "log_softmax" else "Softmax"
    if not w["use_length"]:
        result = w.op(op_type, data, axis=axis)
    elif op_type == "LogSoftmax":
        w.refuse("log_softmax with lengths")
    else:
        result = _masked_softmax(w, data, axis, dtype)
    return w.cast_from(result, dtype, w.output.dtype)


def _masked_softmax(w: NodeWriter, data: Operand, axis: int, dtype: str) -> str:
    """Softmax of the first ``length`` entries along an axis; the others are 0."""
    positions = w.arange(w.length(w.data, axis))
    if axis != w.data.rank - 1:
        positions = w.unsqueeze(positions, *range(1, w.data.rank - axis))
    lengths = w.unsqueeze(w.indices(w.inputs[1]), axis)
    inside = w.op("Less", positions, lengths)
    zero = w.scalar(0, dtype)
    low = w.scalar(-60000.0 if dtype == "float16" else -1e30, dtype)
    probabilities = w.op("Softmax", w.op("Where", inside, data, low), axis=axis)
    return w.op("Where", inside, probabilities, zero)
