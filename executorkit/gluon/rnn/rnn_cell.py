"""``mx.gluon.rnn.rnn_cell``: MXNet's import path of cells."""

from ._cells_of_cells import (
    BidirectionalCell as BidirectionalCell,
    DropoutCell as DropoutCell,
    HybridSequentialRNNCell as HybridSequentialRNNCell,
    ModifierCell as ModifierCell,
    ResidualCell as ResidualCell,
    SequentialRNNCell as SequentialRNNCell,
    ZoneoutCell as ZoneoutCell,
)
from ._gated_cells import (
    DenseCell as DenseCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
)
from ._recurrent_cell import (
    HybridRecurrentCell as HybridRecurrentCell,
    RecurrentCell as RecurrentCell,
)
