"""``mx.rnn``: recurrent cells that make symbols step by step, their checkpoints, and sentences.

    cell = mx.rnn.LSTMCell(200)
    outputs, states = cell.unroll(10, mx.sym.var("data"), merge_outputs=True)

Graphs have MXNet's nodes and names. The program of an unrolled sequence grows with its length;
:class:`FusedRNNCell` is one operator for all steps.
"""

from typing import TYPE_CHECKING

from .. import initializer as init, ndarray as ndarray, symbol as symbol
from .._support.unserved import attribute_getter as _attribute_getter
from ..io import DataBatch as DataBatch, DataDesc as DataDesc, DataIter as DataIter
from ..model import load_checkpoint as load_checkpoint, save_checkpoint as save_checkpoint
from . import rnn_cell as rnn_cell
from ._base_cell import BaseRNNCell as BaseRNNCell, RNNParams as RNNParams
from ._container_cells import (
    BidirectionalCell as BidirectionalCell,
    SequentialRNNCell as SequentialRNNCell,
)
from ._convolutional_cells import (
    BaseConvRNNCell as BaseConvRNNCell,
    ConvGRUCell as ConvGRUCell,
    ConvLSTMCell as ConvLSTMCell,
    ConvRNNCell as ConvRNNCell,
)
from ._dense_cells import (
    DropoutCell as DropoutCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
)
from ._fused_cell import FusedRNNCell as FusedRNNCell
from ._modifier_cells import (
    ModifierCell as ModifierCell,
    ResidualCell as ResidualCell,
    ZoneoutCell as ZoneoutCell,
)
from .io import BucketSentenceIter as BucketSentenceIter, encode_sentences as encode_sentences
from .rnn import (
    do_rnn_checkpoint as do_rnn_checkpoint,
    load_rnn_checkpoint as load_rnn_checkpoint,
    rnn_unroll as rnn_unroll,
    save_rnn_checkpoint as save_rnn_checkpoint,
)

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
