"""``mx.gluon.contrib.rnn``: more cells."""

from typing import TYPE_CHECKING

from ...._support.unserved import attribute_getter as _attribute_getter
from . import conv_rnn_cell as conv_rnn_cell, rnn_cell as rnn_cell
from .conv_rnn_cell import (
    Conv1DGRUCell as Conv1DGRUCell,
    Conv1DLSTMCell as Conv1DLSTMCell,
    Conv1DRNNCell as Conv1DRNNCell,
    Conv2DGRUCell as Conv2DGRUCell,
    Conv2DLSTMCell as Conv2DLSTMCell,
    Conv2DRNNCell as Conv2DRNNCell,
    Conv3DGRUCell as Conv3DGRUCell,
    Conv3DLSTMCell as Conv3DLSTMCell,
    Conv3DRNNCell as Conv3DRNNCell,
)
from .rnn_cell import LSTMPCell as LSTMPCell, VariationalDropoutCell as VariationalDropoutCell

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
