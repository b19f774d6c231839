"""``mx.rnn.rnn_cell``: all cells, under MXNet's import path.

``CellError`` is a former name of ``errors.ArgumentValueError``.
"""

from __future__ import annotations

from ..errors import ArgumentValueError as CellError, MissingParameterError
from ._base_cell import BaseRNNCell, RNNParams
from ._container_cells import BidirectionalCell, SequentialRNNCell
from ._convolutional_cells import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from ._dense_cells import DropoutCell, GRUCell, LSTMCell, RNNCell
from ._fused_cell import FusedRNNCell
from ._modifier_cells import ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "CellError",
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
