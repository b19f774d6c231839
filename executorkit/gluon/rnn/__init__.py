"""``mx.gluon.rnn``: recurrent layers, and cells that are stepped or unrolled."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import rnn_cell as rnn_cell, rnn_layer as rnn_layer
from .rnn_cell import (
    BidirectionalCell as BidirectionalCell,
    DropoutCell as DropoutCell,
    GRUCell as GRUCell,
    HybridRecurrentCell as HybridRecurrentCell,
    HybridSequentialRNNCell as HybridSequentialRNNCell,
    LSTMCell as LSTMCell,
    ModifierCell as ModifierCell,
    RecurrentCell as RecurrentCell,
    ResidualCell as ResidualCell,
    RNNCell as RNNCell,
    SequentialRNNCell as SequentialRNNCell,
    ZoneoutCell as ZoneoutCell,
)
from .rnn_layer import GRU as GRU, LSTM as LSTM, RNN as RNN

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
