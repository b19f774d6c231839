"""Normalisation, with moving or own statistics; softmax, and losses without their labels."""

import numpy as np

from .._node_writer import NodeWriter, Operand, same_layer, translates


@translates("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU")
def _batch_norm(w: NodeWriter) -> list[Operand]:
    data, gamma, beta, mean, variance = w.inputs
    axis = w.step.params.get("axis", 1) % data.rank
    others = [a for a in range(data.rank) if a != axis]
    order = [*others[:1], axis, *others[1:]]
    parameters: list[Operand] = [gamma, beta, mean, variance]
    if data.dtype != "float16":  # ONNX lets parameters be of a higher precision only
        parameters = [w.cast(v, data.dtype) for v in (gamma, beta, mean, variance)]
    result = w.op("BatchNormalization", w.transpose(data, order), *parameters, epsilon=w["eps"])
    if axis != 1:
        result = w.transpose(result, list(np.argsort(order)))
    if w.operator == "_contrib_BatchNormWithReLU":
        result = w.op("Relu", result)
    if not w["output_mean_var"]:
        return [result]
    w.refuse("output_mean_var=True")


def _moments(w: NodeWriter, data: Operand, axes: list[int]) -> tuple[str, str]:
    centered = w.op("Sub", data, w.reduce("Mean", data, axes))
    return centered, w.reduce("Mean", w.op("Mul", centered, centered), axes)


@translates("LayerNorm")
def _layer_norm(w: NodeWriter) -> list[Operand]:
    data, gamma, beta = w.inputs
    axis = w["axis"] % data.rank
    if w["output_mean_var"]:
        w.refuse("output_mean_var=True")
    if axis == data.rank - 1:
        return [w.op("LayerNormalization", data, gamma, beta, axis=axis, epsilon=w["eps"])]
    centered, variance = _moments(w, data, [axis])
    spread = w.op("Sqrt", w.op("Add", variance, w.scalar(w["eps"])))
    behind = list(range(1, data.rank - axis))
    scaled = w.op("Mul", w.op("Div", centered, spread), w.unsqueeze(gamma, *behind))
    return [w.op("Add", scaled, w.unsqueeze(beta, *behind))]


@translates("GroupNorm")
def _group_norm(w: NodeWriter) -> list[Operand]:
    data, gamma, beta = w.inputs
    if w["output_mean_var"]:
        w.refuse("output_mean_var=True")
    lengths = w.lengths(data)
    grouped = w.op("Reshape", data, w.ints(0, w["num_groups"], -1))
    normed = w.op("InstanceNormalization", grouped, gamma, beta, epsilon=w["eps"])
    return [w.reshape(normed, lengths)]


@translates("L2Normalization")
def _l2_normalization(w: NodeWriter) -> list[Operand]:
    rank = w.data.rank
    first, last = {"instance": (1, rank), "channel": (1, 2), "spatial": (2, rank)}[w["mode"]]
    square = w.reduce("SumSquare", w.data, list(range(first, last)))
    return [w.op("Div", w.data, w.op("Sqrt", w.op("Add", square, w.scalar(w["eps"]))))]


@translates("LRN")
def _local_response(w: NodeWriter) -> str:
    if w["nsize"] % 2 == 0:
        w.refuse("runtimes refuse an even nsize")
    return same_layer(w)


translates("InstanceNorm", "ROIPooling", "hard_sigmoid")(same_layer)


@translates(
    "LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", "MakeLoss", "make_loss",
    reads=("data",),
)  # fmt: skip
def _data(w: NodeWriter) -> Operand:
    return w.data


translates("LogisticRegressionOutput", reads=("data",))(lambda w: w.op("Sigmoid", w.data))


@translates("SoftmaxOutput", reads=("data",))
def _softmax_output(w: NodeWriter) -> str:
    if w["multi_output"]:
        return w.op("Softmax", w.data, axis=1)
    if w["preserve_shape"] or w.data.rank == 2:
        return w.op("Softmax", w.data, axis=w.data.rank - 1)
    lengths = w.lengths(w.data)
    return w.reshape(w.op("Softmax", w.op("Flatten", w.data, axis=1), axis=1), lengths)


@translates("SoftmaxActivation")
def _softmax_activation(w: NodeWriter) -> str:
    return w.op("Softmax", w.data, axis=1 if w["mode"] == "channel" else w.data.rank - 1)


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
    positions = w.arange(w.length(w.data, axis))
    if axis != w.data.rank - 1:
        positions = w.unsqueeze(positions, *range(1, w.data.rank - axis))
    inside = w.op("Less", positions, w.unsqueeze(w.indices(w.inputs[1]), axis))
    zero = w.scalar(0, dtype)
    low = w.scalar(-60000.0 if dtype == "float16" else -1e30, dtype)
    return w.op("Where", inside, w.op("Softmax", w.op("Where", inside, data, low), axis=axis), zero)
