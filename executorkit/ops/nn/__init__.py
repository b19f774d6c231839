"""Layers of neural networks and their losses."""

from . import (
    activation as activation,
    attention as attention,
    batch_norm as batch_norm,
    conv as conv,
    ctc as ctc,
    dense as dense,
    dropout as dropout,
    loss_heads as loss_heads,
    norm as norm,
    pool as pool,
    rnn_layer as rnn_layer,
    sequence as sequence,
    softmax as softmax,
)
