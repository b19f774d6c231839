"""Layers: convolutions, products of matrices, normalisation, and recurrent ones."""

from typing import Any

import numpy as np

from ... import symbol as sym
from ...ops.nn.rnn_parameters import Mode
from ...symbol import Symbol
from .._correspondence import LAYERS
from .._node_reader import NodeReader, imports
from .shape_imports import padded


def window(r: NodeReader, rank: int, kernel: tuple[int, ...]) -> dict[str, Any]:
    stride = tuple(r.get("strides", (1,) * rank))
    dilate = tuple(r.get("dilations", (1,) * rank))
    pads = tuple(r.get("pads", (0,) * (2 * rank)))
    mode = r.get("auto_pad", "NOTSET")
    if mode == "VALID":
        pads = (0,) * (2 * rank)
    elif mode.startswith("SAME"):
        sizes = r.sizes(0, range(2, rank + 2))
        totals = [
            max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            for n, s, d, k in zip(sizes, stride, dilate, kernel, strict=True)
        ]
        small = [t // 2 for t in totals]
        large = [t - t // 2 for t in totals]
        pads = (*small, *large) if mode == "SAME_UPPER" else (*large, *small)
    return {"stride": stride, "dilate": dilate, "before": pads[:rank], "after": pads[rank:]}


def _filters(r: NodeReader, axis: int) -> tuple[tuple[int, ...], int]:
    shape = r.shapes[1]
    kernel = tuple(r.get("kernel_shape", ())) or tuple(r.sizes(1, range(2, r.rank(1))))
    if shape is None or (count := shape[axis]) is None:
        r.refuse("the number of filters is not known")
    return kernel, count


@imports("Conv")
def _conv(r: NodeReader) -> Symbol:
    kernel, filters = _filters(r, 0)
    rank = len(kernel)
    at = window(r, rank, kernel)
    data, pad = r[0], at["before"]
    if at["before"] != at["after"]:
        data = padded(data, (0, 0, *at["before"]), (0, 0, *at["after"]), 0.0, None)
        pad = (0,) * rank
    inputs = [data, r[1], *([r[2]] if r.has(2) else [])]
    return sym.Convolution(
        *inputs, kernel=kernel, stride=at["stride"], dilate=at["dilate"], pad=pad,
        num_filter=filters, num_group=r.get("group", 1), no_bias=not r.has(2), name=r.name,
    )  # fmt: skip


@imports("ConvTranspose")
def _conv_transpose(r: NodeReader) -> Symbol:
    kernel, filters = _filters(r, 1)
    if "output_shape" in r.attrs or r.get("auto_pad", "NOTSET") != "NOTSET":
        r.refuse("padding that follows from output_shape or auto_pad")
    rank, group = len(kernel), r.get("group", 1)
    at = window(r, rank, kernel)
    pad = tuple(min(pair) for pair in zip(at["before"], at["after"], strict=True))
    adj = tuple(r.get("output_padding", (0,) * rank))
    inputs = [r[0], r[1], *([r[2]] if r.has(2) else [])]
    uneven = at["before"] != at["after"]
    result = sym.Deconvolution(
        *inputs, kernel=kernel, stride=at["stride"], dilate=at["dilate"], pad=pad, adj=adj,
        num_filter=filters * group, num_group=group, no_bias=not r.has(2),
        name=None if uneven else r.name,
    )  # fmt: skip
    if not uneven:
        return result
    begin = [b - p for b, p in zip(at["before"], pad, strict=True)]
    end = [-(a - p) or None for a, p in zip(at["after"], pad, strict=True)]
    return sym.slice(result, begin=(None, None, *begin), end=(None, None, *end), name=r.name)


@imports("Gemm")
def _gemm(r: NodeReader) -> Symbol:
    alpha, beta = r.get("alpha", 1.0), r.get("beta", 1.0)
    weight, bias = r.values[1], (r.values[2] if r.has(2) else None)
    if not isinstance(weight, np.ndarray) or not isinstance(bias, np.ndarray | None):
        return _product_and_sum(r)
    is_vector = bias is None or bias.ndim < 2 or bias.shape[0] == 1
    if alpha == beta == 1 and not r.get("transA", 0) and is_vector:
        return _dense(r, weight, bias)
    return _product_and_sum(r)


def _product_and_sum(r: NodeReader) -> Symbol:
    alpha, beta = r.get("alpha", 1.0), r.get("beta", 1.0)
    product = sym.dot(
        r[0], r[1], transpose_a=bool(r.get("transA", 0)), transpose_b=bool(r.get("transB", 0))
    )
    product = product if alpha == 1 else product * alpha
    if not r.has(2):
        return sym.identity(product, name=r.name)
    addend = r[2] if beta == 1 else r[2] * beta
    shape = r.shapes[2]
    if shape is not None and len(shape) < 2:
        addend = sym.reshape(addend, shape=(1, -1))
    return sym.broadcast_add(product, addend, name=r.name)


def _dense(r: NodeReader, weight: np.ndarray, bias: np.ndarray | None) -> Symbol:
    if not r.get("transB", 0):
        variable = r.variable(f"{r.names[1]}_transposed", np.ascontiguousarray(weight.T))
        units = weight.shape[1]
    else:
        variable, units = r[1], weight.shape[0]
    if bias is None:
        return sym.FullyConnected(r[0], variable, num_hidden=units, no_bias=True, name=r.name)
    if bias.shape == (units,):
        addend = r[2]
    else:
        wide = np.broadcast_to(bias.reshape(-1) if bias.size == units else bias, (units,))
        addend = r.variable(f"{r.name}_bias", wide.copy())
    return sym.FullyConnected(r[0], variable, addend, num_hidden=units, name=r.name)


@imports("MatMul")
def _matmul(r: NodeReader) -> Symbol:
    ranks = r.rank(0), r.rank(1)
    if ranks[1] == 2 and ranks[0] >= 2:
        return sym.dot(r[0], r[1], name=r.name)
    if ranks[0] != ranks[1] or ranks[0] < 3:
        r.refuse(f"a product of arrays with {ranks[0]} and {ranks[1]} axes")
    stacks = [(shape or ())[:-2] for shape in r.shapes]
    if stacks[0] != stacks[1] and None not in (*stacks[0], *stacks[1]):
        r.refuse("a product of stacks of matrices of different lengths")
    return sym.linalg.gemm2(r[0], r[1], name=r.name)


@imports("BatchNormalization")
def _batch_norm(r: NodeReader) -> Symbol:
    r.only("training_mode", 0)
    return sym.BatchNorm(
        *(r[i] for i in range(5)), eps=r.get("epsilon", 1e-5), momentum=r.get("momentum", 0.9),
        fix_gamma=False, name=r.name,
    )  # fmt: skip


@imports("LayerNormalization")
def _layer_norm(r: NodeReader) -> Symbol:
    if r.get("axis", -1) not in (-1, r.rank(0) - 1) or not r.has(2):
        r.refuse("normalisation over several axes, or without a shift")
    return sym.LayerNorm(r[0], r[1], r[2], axis=-1, eps=r.get("epsilon", 1e-5), name=r.name)


@imports(*LAYERS)
def _same_layer(r: NodeReader) -> Symbol:
    layer = LAYERS[r.op_type]
    attrs = {ours: r.get(*theirs) for ours, theirs in layer.attrs.items()}
    return getattr(sym, layer.operator)(*r.symbols(), **attrs, name=r.name)


@imports("LpNormalization")
def _lp_normalization(r: NodeReader) -> Symbol:
    axis, power = r.get("axis", -1), r.get("p", 2)
    return sym.broadcast_div(r[0], sym.norm(r[0], ord=power, axis=axis, keepdims=True), name=r.name)


#: For each operator the positions of ONNX's gates in MXNet's order.
_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


@imports(*_GATES)
def _recurrent(r: NodeReader) -> list[Symbol]:
    directions = _checked(r)
    hidden = int(r.get("hidden_size"))
    weights = [r.constant(1), r.constant(2)]
    gates = len(_GATES[r.op_type])
    bias = r.optional(3)
    if bias is None:
        bias = np.zeros((directions, 2 * gates * hidden), weights[0].dtype)
    packed = _packed(r, weights, bias, hidden)
    count = 2 if r.op_type == "LSTM" else 1
    shape = (directions, 0, hidden)
    states = [r[5 + i] if r.has(5 + i) else sym.zeros(shape) for i in range(count)]
    options, lengths = ({"use_sequence_length": True}, [r[4]]) if r.has(4) else ({}, [])
    result = sym.RNN(
        r[0], r.variable(f"{r.name}_parameters", packed), *states, *lengths, state_size=hidden,
        num_layers=1, mode=_mode(r, directions), bidirectional=directions == 2,
        state_outputs=True, name=r.name, **options,
    )  # fmt: skip
    # (T, N, D H) as (T, D, N, H)
    split = sym.reshape(result[0], shape=(0, 0, -4, directions, -1))
    return [sym.transpose(split, axes=(0, 2, 1, 3)), *(result[i + 1] for i in range(count))]


def _checked(r: NodeReader) -> int:
    direction = r.get("direction", "forward")
    if direction == "reverse":
        r.refuse("direction='reverse'")
    if r.get("clip") is not None or r.get("input_forget", 0) or r.get("layout", 0):
        r.refuse("clip, input_forget or layout=1")
    if r.has(7):
        r.refuse("peepholes")
    if r.op_type == "GRU" and not r.get("linear_before_reset", 0):
        r.refuse("linear_before_reset=0")
    return 2 if direction == "bidirectional" else 1


def _mode(r: NodeReader, directions: int) -> Mode:
    names = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}
    default = names[r.op_type] * directions
    activations = tuple(a.lower() for a in r.get("activations", default))
    if r.op_type == "RNN" and set(activations) == {"relu"}:
        return "rnn_relu"
    if activations != default:
        r.refuse(f"activations {', '.join(activations)}")
    modes: dict[str, Mode] = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}
    return modes[r.op_type]


def _packed(r: NodeReader, weights: list[np.ndarray], bias: np.ndarray, hidden: int) -> np.ndarray:
    def ordered(rows: np.ndarray) -> np.ndarray:
        gates = [rows[g * hidden : (g + 1) * hidden] for g in _GATES[r.op_type]]
        return np.concatenate(gates).reshape(-1)

    parts = [ordered(matrix[d]) for d in range(len(bias)) for matrix in weights]
    for row in bias:
        half = len(row) // 2
        parts += [ordered(row[:half]), ordered(row[half:])]
    return np.concatenate(parts)
