"""Recognition of a line of text: convolutions, then LSTMs over the columns (Shi et al. 2015)."""

from __future__ import annotations

from typing import Any


def text_line(mx: Any, columns: int, hidden: int = 128, characters: int = 80) -> Any:
    """Probabilities (columns, N, characters) of pictures (N, 1, 32, 4 columns)."""
    x = mx.sym.Variable("data")
    for i, (filters, pooling) in enumerate(
        [(32, (2, 2)), (64, (2, 2)), (128, (2, 1)), (128, (2, 1))]
    ):
        x = mx.sym.Convolution(
            x, kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True, name=f"conv{i}"
        )
        x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-5, name=f"bn{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
        x = mx.sym.Pooling(x, kernel=pooling, stride=pooling, pool_type="max", name=f"pool{i}")
    x = mx.sym.Reshape(mx.sym.transpose(x, axes=(3, 0, 1, 2)), shape=(0, 0, -1))
    stack = mx.rnn.SequentialRNNCell()
    for layer in range(2):
        cells = [mx.rnn.LSTMCell(hidden, prefix=f"{way}{layer}_") for way in ("left", "right")]
        stack.add(mx.rnn.BidirectionalCell(*cells, output_prefix=f"both{layer}_"))
    x, _ = stack.unroll(columns, x, layout="TNC", merge_outputs=True)
    x = mx.sym.FullyConnected(x, num_hidden=characters, flatten=False, name="cls")
    return mx.sym.softmax(x, axis=-1, name="softmax")
