"""Fused recurrent layers: every kind of cell, layers, directions, state outputs, projection."""

from __future__ import annotations

from ._case import Case, normal, uniform

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
WHY = "MXNet computes the relu of doubles in single precision"
NO_GRAD = "MXNet's CPU build does not train an LSTM with projection"


def _rnn(
    name: str,
    mode: str,
    steps: int = 4,
    batch: int = 2,
    features: int = 3,
    size: int = 4,
    layers: int = 1,
    also: tuple[str, ...] = (),
    no_grad: str | None = None,
    **attrs,
) -> Case:
    directions = 2 if attrs.get("bidirectional") else 1
    hidden = attrs.get("projection_size", size)
    packed, width = 0, features
    for _ in range(layers):
        rows = GATES[mode] * size
        projection = hidden * size if "projection_size" in attrs else 0
        packed += directions * (rows * (width + hidden + 2) + projection)
        width = directions * hidden
    inputs = {
        "data": normal(steps, batch, features),
        "parameters": uniform(packed, low=-0.6, high=0.6),
        "state": uniform(layers * directions, batch, hidden, low=-0.5, high=0.5),
    }
    if mode == "lstm":
        inputs["state_cell"] = uniform(layers * directions, batch, size, low=-0.5, high=0.5)
    attrs = {"state_size": size, "num_layers": layers, "mode": mode, **attrs}
    single = mode == "rnn_relu"
    return Case(f"RNN_{name}", "RNN", inputs, attrs, no_grad=no_grad, train=not no_grad, also=also,
                rtol64=1e-7 if single else None, why=WHY if single else None)  # fmt: skip


CASES = [
    case
    for mode in GATES
    for case in (
        _rnn(mode, mode, also=("float64",)),
        _rnn(f"{mode}_states", mode, layers=2, state_outputs=True),
        _rnn(f"{mode}_bidirectional", mode, layers=2, bidirectional=True, state_outputs=True),
    )
] + [
    _rnn("one_of_each", "lstm", 1, 1, 1, 1, state_outputs=True),
    _rnn("bidirectional_one_layer", "lstm", steps=3, bidirectional=True),
    _rnn("three_layers", "gru", layers=3, size=2, p=0.0),
    _rnn("projection", "lstm", projection_size=2, state_outputs=True, no_grad=NO_GRAD),
    _rnn("projection_layers", "lstm", layers=2, projection_size=3, bidirectional=True,
         state_outputs=True, no_grad=NO_GRAD),
]  # fmt: skip
