"""``mx.gluon.rnn``: recurrent layers, and cells that are stepped or unrolled."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import rnn_cell as rnn_cell, rnn_layer as rnn_layer
from ._cells_of_cells import (
    BidirectionalCell as BidirectionalCell,
    DropoutCell as DropoutCell,
    HybridSequentialRNNCell as HybridSequentialRNNCell,
    ModifierCell as ModifierCell,
    ResidualCell as ResidualCell,
    SequentialRNNCell as SequentialRNNCell,
    ZoneoutCell as ZoneoutCell,
)
from ._gated_cells import GRUCell as GRUCell, LSTMCell as LSTMCell, RNNCell as RNNCell
from ._recurrent_cell import (
    HybridRecurrentCell as HybridRecurrentCell,
    RecurrentCell as RecurrentCell,
)
from .rnn_layer import GRU as GRU, LSTM as LSTM, RNN as RNN

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
