"""Layers of neural networks."""

from . import (  # noqa: F401 - importing a family registers its operators
    activation,
    attention,
    batch_norm,
    conv,
    ctc,
    dense,
    dropout,
    loss_heads,
    moments,
    norm,
    pool,
    rnn_layer,
    rnn_parameters,
    sequence,
    softmax,
)
