"""A language model: embedding, two LSTM layers unrolled by hand, softmax over the words."""

from __future__ import annotations

from typing import Any


def _cell(mx: Any, x: Any, state: tuple[Any, Any], hidden: int, weights: dict[str, Any],
          name: str) -> tuple[Any, Any]:  # fmt: skip
    """One step: (h, c) after input ``x``; gates in the order input, forget, candidate, output."""
    h, c = state
    gates = mx.sym.FullyConnected(
        x, weights["i2h_weight"], weights["i2h_bias"], num_hidden=4 * hidden, name=f"{name}_i2h"
    ) + mx.sym.FullyConnected(
        h, weights["h2h_weight"], weights["h2h_bias"], num_hidden=4 * hidden, name=f"{name}_h2h"
    )
    parts = mx.sym.SliceChannel(gates, num_outputs=4, name=f"{name}_slice")
    enter, forget, leave = (mx.sym.Activation(parts[i], act_type="sigmoid") for i in (0, 1, 3))
    candidate = mx.sym.Activation(parts[2], act_type="tanh")
    c = forget * c + enter * candidate
    return leave * mx.sym.Activation(c, act_type="tanh"), c


def lstm(
    mx: Any, steps: int = 35, layers: int = 2, hidden: int = 32, embed: int = 16, words: int = 50
) -> Any:
    """data and softmax_label (batch, steps) hold word numbers; initial states are variables."""
    table = mx.sym.Embedding(
        mx.sym.Variable("data"),
        mx.sym.Variable("embed_weight"),
        input_dim=words,
        output_dim=embed,
        name="embed",
    )
    inputs = mx.sym.SliceChannel(table, num_outputs=steps, axis=1, squeeze_axis=True, name="steps")
    weights = [
        {
            key: mx.sym.Variable(f"l{layer}_{key}")
            for key in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
        }
        for layer in range(layers)
    ]
    states = [
        (mx.sym.Variable(f"l{layer}_init_h"), mx.sym.Variable(f"l{layer}_init_c"))
        for layer in range(layers)
    ]
    tops = []
    for t in range(steps):
        x = inputs[t]
        for layer in range(layers):
            states[layer] = _cell(mx, x, states[layer], hidden, weights[layer], f"t{t}_l{layer}")
            x = states[layer][0]
        tops.append(x)
    x = mx.sym.Concat(*tops, dim=0, name="tops")
    x = mx.sym.FullyConnected(x, num_hidden=words, name="cls")
    label = mx.sym.Reshape(mx.sym.transpose(mx.sym.Variable("softmax_label")), shape=(-1,))
    return mx.sym.SoftmaxOutput(x, label, name="softmax")
