"""FusedRNNCell: recurrent layers as one operator."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .. import initializer as init, symbol as sym
from ..errors import ArgumentValueError, NotSupportedError
from ..ndarray import NDArray, array
from ..ops.nn.rnn_parameters import GateParameters, Mode
from ..symbol import Symbol
from ._base_cell import Arrays, BaseRNNCell, Outputs, RNNParams, StateInfo, States, pop_parameter
from ._container_cells import BidirectionalCell, SequentialRNNCell
from ._dense_cells import DropoutCell, GRUCell, LSTMCell, RNNCell
from ._unrolling import as_symbol, merge_or_split, time_axis


class FusedRNNCell(BaseRNNCell):
    """Recurrent layers as one RNN operator, whose program does not grow with the sequence.

    num_hidden
        The number of units of each layer and direction.
    num_layers
        The number of layers.
    mode
        'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    bidirectional
        Whether each layer runs in both directions.
    dropout
        The fraction of each layer's output that is dropped in training before the next layer.
    get_next_state
        Whether ``unroll`` returns the states after the last step; otherwise it returns [].
    forget_bias
        The initial value of both biases of an LSTM's forget gates.
    prefix
        The beginning of all names; None: the mode and '_'.

    Its variable 'parameters' is packed in the order of the operator RNN. States are (layers x
    directions, batch, num_hidden). The layout 'TNC' saves two transpositions.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: Mode = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._gates = GateParameters.of(mode, num_hidden, num_layers, bidirectional)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode: Mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        initializer = init.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=initializer)

    @property
    def state_info(self) -> list[StateInfo]:
        rows = self._num_layers * (2 if self._bidirectional else 1)
        states = 2 if self._mode == "lstm" else 1
        return [{"shape": (rows, 0, self._num_hidden), "__layout__": "LNC"}] * states

    @property
    def _gate_names(self) -> Sequence[str]:
        return self._gates.names

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Returns ``args`` with the packed parameters split by gate, named as by the cells of
        ``unfuse()``. KeyError if the vector is missing, AssertionError if its length is wrong."""
        arrays = dict(args)
        packed = pop_parameter(arrays, str(self._parameter.name), "unpack_weights")
        host = packed.asnumpy()
        for name, piece, shape in self._gates.pieces(self._gates.features(packed.size)):
            values = host[piece].reshape(shape)
            arrays[self._prefix + name] = array(values, ctx=packed.context, dtype=packed.dtype)
        return arrays

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        arrays = dict(args)
        first = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        weight = pop_parameter({**arrays}, first, "pack_weights")
        pieces = []
        for name, _, shape in self._gates.pieces(weight.shape[1]):
            piece = pop_parameter(arrays, self._prefix + name, "pack_weights")
            if piece.shape != shape:
                problem = f"{self._prefix + name!r} is {piece.shape}, expected {shape}"
                raise ArgumentValueError("pack_weights", problem, because=f"of {first!r}")
            pieces.append(piece.asnumpy().ravel())
        packed = array(np.concatenate(pieces), ctx=weight.context, dtype=weight.dtype)
        arrays[str(self._parameter.name)] = packed
        return arrays

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        raise NotSupportedError("FusedRNNCell", "it cannot be stepped", hint="unroll, or unfuse()")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None) -> Outputs:
        self.reset()
        axis = time_axis(layout)
        if axis > 1:
            raise ArgumentValueError("unroll: layout", f"{layout!r}, expected 'NTC' or 'TNC'")
        sequence = as_symbol(length, inputs, layout)
        if axis == 1:
            sequence = sym.swapaxes(sequence, dim1=0, dim2=1)
        initial_states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell") if self._mode == "lstm" else ("state",)
        layers = sym.RNN(
            data=sequence,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            attr={"__layout__": "LNC"} if self._get_next_state else None,
            **dict(zip(names, initial_states, strict=False)),
        )
        outputs, *states = list(layers) if self._get_next_state else [layers]
        if axis == 1:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return merge_or_split(length, outputs, layout, merge_outputs), states

    def unfuse(self) -> SequentialRNNCell:
        """Returns the same layers as a stack of cells, which can be stepped;
        ``cell.pack_weights(fused.unpack_weights(args))`` converts parameters. As in MXNet, the
        cells of an LSTM have a forget bias of 1."""
        makers: dict[str, Callable[[str], BaseRNNCell]] = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, "relu", prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, "tanh", prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix),
        }
        make, stack = makers[self._mode], SequentialRNNCell()
        for i in range(self._num_layers):
            cell = make(f"{self._prefix}l{i}_")
            if self._bidirectional:
                backwards = make(f"{self._prefix}r{i}_")
                cell = BidirectionalCell(cell, backwards, output_prefix=f"{self._prefix}bi_l{i}_")
            stack.add(cell)
            if self._dropout > 0 and i < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, f"{self._prefix}_dropout{i}_"))
        return stack
