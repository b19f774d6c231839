"""Layers of neural networks and their losses."""

from . import (
    activation,
    attention,
    batch_norm,
    conv,
    ctc,
    dense,
    dropout,
    loss_heads,
    norm,
    pool,
    rnn_layer,
    sequence,
    softmax,
)

__all__ = [
    "activation",
    "attention",
    "batch_norm",
    "conv",
    "ctc",
    "dense",
    "dropout",
    "loss_heads",
    "norm",
    "pool",
    "rnn_layer",
    "sequence",
    "softmax",
]
