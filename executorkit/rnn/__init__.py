"""``mx.rnn``: recurrent cells that make symbols step by step, their checkpoints, and sentences.

    cell = mx.rnn.LSTMCell(200)
    outputs, states = cell.unroll(10, mx.sym.var("data"), merge_outputs=True)

Graphs are MXNet's, node for node and name for name. The program of an unrolled sequence grows with
its length; :class:`FusedRNNCell` is one operator for all steps. ``CellError`` is a former name of
``errors.ArgumentValueError``, ``UnknownTokenError`` of ``errors.UnknownNameError``.
"""

from typing import TYPE_CHECKING

from .. import initializer as init
from .. import ndarray, symbol
from ..errors import UnknownNameError as UnknownTokenError
from ..io import DataBatch, DataDesc, DataIter
from ..model import load_checkpoint, save_checkpoint
from ..unserved import attribute_getter as _attribute_getter
from .io import BucketSentenceIter, encode_sentences
from .rnn import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from .rnn_cell import (
    BaseConvRNNCell,
    BaseRNNCell,
    BidirectionalCell,
    CellError,
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
    DropoutCell,
    FusedRNNCell,
    GRUCell,
    LSTMCell,
    MissingParameterError,
    ModifierCell,
    ResidualCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
    ZoneoutCell,
)

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "CellError",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DataBatch",
    "DataDesc",
    "DataIter",
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
    "UnknownTokenError",
    "ZoneoutCell",
    "do_rnn_checkpoint",
    "encode_sentences",
    "init",
    "io",
    "load_checkpoint",
    "load_rnn_checkpoint",
    "ndarray",
    "rnn",
    "rnn_cell",
    "rnn_unroll",
    "save_checkpoint",
    "save_rnn_checkpoint",
    "symbol",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
