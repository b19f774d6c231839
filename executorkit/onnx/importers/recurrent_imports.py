"""Recurrent layers: one node becomes one fused layer with a packed vector of parameters."""

from __future__ import annotations

import numpy as np

from ... import symbol as sym
from ...ops.nn.rnn_parameters import Mode
from ...symbol import Symbol
from .._node_reader import NodeReader, imports

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
    options = {"use_sequence_length": True} if r.has(4) else {}
    lengths = [r[4]] if r.has(4) else []
    result = sym.RNN(
        r[0], r.variable(f"{r.name}_parameters", packed), *states, *lengths, state_size=hidden,
        num_layers=1, mode=_mode(r, directions), bidirectional=directions == 2,
        state_outputs=True, name=r.name, **options,
    )  # fmt: skip
    # (T, N, D H) as (T, D, N, H)
    split = sym.reshape(result[0], shape=(0, 0, -4, directions, -1))
    sequence = sym.transpose(split, axes=(0, 2, 1, 3))
    return [sequence, *(result[i + 1] for i in range(count))]


def _checked(r: NodeReader) -> int:
    """The number of directions. Refuses what MXNet's layer has not."""
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
    """All weights, then all biases, each by direction, with gates in MXNet's order."""

    def ordered(rows: np.ndarray) -> np.ndarray:
        gates = [rows[g * hidden : (g + 1) * hidden] for g in _GATES[r.op_type]]
        return np.concatenate(gates).reshape(-1)

    parts = [ordered(matrix[d]) for d in range(len(bias)) for matrix in weights]
    for row in bias:
        half = len(row) // 2
        parts += [ordered(row[:half]), ordered(row[half:])]
    return np.concatenate(parts)
