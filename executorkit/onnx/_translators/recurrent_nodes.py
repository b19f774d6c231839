"""Fused recurrent layers: a node of ONNX per layer, with gates in ONNX's order."""

import math
from typing import Any

import numpy as np

from ...ops.nn.rnn_parameters import PackedSizes
from .._draft import Value
from .._node_writer import NodeWriter, Operand, translates

#: ONNX's operator, and the positions of MXNet's gates in ONNX's order.
_CELLS = {
    "lstm": ("LSTM", (0, 3, 1, 2)),
    "gru": ("GRU", (1, 0, 2)),
    "rnn_tanh": ("RNN", (0,)),
    "rnn_relu": ("RNN", (0,)),
}


@translates("RNN")
def _recurrent(w: NodeWriter) -> list[Operand]:
    for name in ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max"):
        if w[name] is not None:
            w.refuse(f"{name}={w[name]}")
    directions = 2 if w["bidirectional"] else 1
    states = [w.named_inputs[n] for n in ("state", "state_cell") if n in w.named_inputs]
    features = w.data.shape[2]
    if features is None:
        w.refuse("a number of features that varies")
    cells = _cells(w, features)
    lengths = w.named_inputs.get("sequence_length")
    valid = "" if lengths is None else w.cast(lengths, "int32")
    x: Operand = w.data
    last: list[list[str]] = [[] for _ in states]
    for layer in range(w["num_layers"]):
        first = layer * directions
        initial = [_rows(w, state, first, directions) for state in states]
        x, finals = _layer(w, x, cells[first : first + directions], valid, initial)
        for collected, final in zip(last, finals, strict=True):
            collected.append(final)
    outputs: list[Operand] = [x]
    if w["state_outputs"]:
        outputs += [w.concat(parts, 0) for parts in last]
    return outputs


def _rows(w: NodeWriter, state: Value, start: int, count: int) -> Operand:
    return state if state.shape[0] == count else w.slice(state, [0], [start], [start + count])


def _cells(w: NodeWriter, features: int) -> list[dict[str, Any]]:
    vector = w.named_inputs["parameters"]
    sizes = PackedSizes.of(w.step.params)
    cells: list[dict[str, Any]] = [{} for _ in range(sizes.layers * sizes.directions)]
    start = 0
    for cell, piece, shape in sizes.layout(features):
        stop = start + math.prod(shape)
        if vector.array is not None:
            cells[cell][piece] = vector.array[start:stop].reshape(shape)
        else:
            cells[cell][piece] = w.reshape(w.slice(vector, [0], [start], [stop]), list(shape))
        start = stop
    return cells


def _stacked(w: NodeWriter, cells: list[dict[str, Any]], name: str, *pieces: str) -> str:
    order, rows = _CELLS[w["mode"]][1], w["state_size"]
    if isinstance(cells[0][pieces[0]], np.ndarray):
        blocks = [[c[p][g * rows : (g + 1) * rows] for p in pieces for g in order] for c in cells]
        return w.array(np.stack([np.concatenate(b) for b in blocks]), f"{w.name}_{name}")

    def ordered(weight: Operand) -> Operand:
        if len(order) == 1:
            return weight
        gates = w.split(weight, [rows] * len(order), 0)
        return w.concat([gates[g] for g in order], 0)

    parts = [w.concat([ordered(c[p]) for p in pieces], 0) for c in cells]
    return w.concat([w.unsqueeze(part, 0) for part in parts], 0)


def _layer(
    w: NodeWriter, x: Operand, cells: list[dict[str, Any]], lengths: str, initial: list[Operand]
) -> tuple[str, list[str]]:
    mode, hidden = w["mode"], w["state_size"]
    op_type, _ = _CELLS[mode]
    both = len(cells) == 2
    weights = [
        _stacked(w, cells, "W", "input"),
        _stacked(w, cells, "R", "recurrent"),
        _stacked(w, cells, "B", "input_bias", "recurrent_bias"),
    ]
    activation = {"rnn_tanh": "Tanh", "rnn_relu": "Relu"}.get(mode)
    outputs = w.split_op(
        op_type, 1 + len(initial), x, *weights, lengths, *initial, hidden_size=hidden,
        direction="bidirectional" if both else "forward",
        activations=[activation] * len(cells) if activation else None,
        linear_before_reset=1 if mode == "gru" else None,
    )  # fmt: skip
    sequence, *finals = outputs
    if not both:
        return w.squeeze(sequence, 1), finals
    return w.op("Reshape", w.transpose(sequence, [0, 2, 1, 3]), w.ints(0, 0, 2 * hidden)), finals
