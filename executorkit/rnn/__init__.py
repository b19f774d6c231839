"""``mx.rnn``: recurrent cells that make symbols step by step, their checkpoints, and sentences.

    cell = mx.rnn.LSTMCell(200)
    outputs, states = cell.unroll(10, mx.sym.var("data"), merge_outputs=True)

Graphs are MXNet's, node for node and name for name. The program of an unrolled sequence grows with
its length; :class:`FusedRNNCell` is one operator for all steps. ``CellError`` is a former name of
``errors.ArgumentValueError``, ``UnknownTokenError`` of ``errors.UnknownNameError``.
"""

from typing import TYPE_CHECKING

from .. import initializer as init, ndarray as ndarray, symbol as symbol
from .._support.unserved import attribute_getter as _attribute_getter
from ..errors import UnknownNameError as UnknownTokenError
from ..io import DataBatch as DataBatch, DataDesc as DataDesc, DataIter as DataIter
from ..model import load_checkpoint as load_checkpoint, save_checkpoint as save_checkpoint
from .io import BucketSentenceIter as BucketSentenceIter, encode_sentences as encode_sentences
from .rnn import (
    do_rnn_checkpoint as do_rnn_checkpoint,
    load_rnn_checkpoint as load_rnn_checkpoint,
    rnn_unroll as rnn_unroll,
    save_rnn_checkpoint as save_rnn_checkpoint,
)
from .rnn_cell import (
    BaseConvRNNCell as BaseConvRNNCell,
    BaseRNNCell as BaseRNNCell,
    BidirectionalCell as BidirectionalCell,
    CellError as CellError,
    ConvGRUCell as ConvGRUCell,
    ConvLSTMCell as ConvLSTMCell,
    ConvRNNCell as ConvRNNCell,
    DropoutCell as DropoutCell,
    FusedRNNCell as FusedRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    MissingParameterError as MissingParameterError,
    ModifierCell as ModifierCell,
    ResidualCell as ResidualCell,
    RNNCell as RNNCell,
    RNNParams as RNNParams,
    SequentialRNNCell as SequentialRNNCell,
    ZoneoutCell as ZoneoutCell,
)

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
