"""``mx.rnn.rnn_cell``: all cells, under MXNet's import path."""

from __future__ import annotations

from ..errors import ArgumentValueError, MissingParameterError
from ._base import BaseRNNCell, RNNParams
from ._cells import DropoutCell, GRUCell, LSTMCell, RNNCell
from ._containers import BidirectionalCell, SequentialRNNCell
from ._convolutional import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from ._fused import FusedRNNCell
from ._modifiers import ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "ArgumentValueError",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "MissingParameterError",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
