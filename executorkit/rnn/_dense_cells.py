"""Recurrent cells of dense layers, and dropout; their nodes have MXNet's names."""

from functools import partial
from numbers import Number
from typing import Any

from .. import initializer as init, symbol as sym
from ..errors import ArgumentValueError
from ..ops.nn.recurrent_cells import gru_step, lstm_gates, lstm_step, rnn_step
from ..ops.nn.rnn_parameters import GATE_NAMES
from ..symbol import Symbol
from ._base_cell import (
    Activation,
    BaseRNNCell,
    Outputs,
    RNNParams,
    StateInfo,
    States,
    apply_activation,
)
from ._unrolling import merge_or_split

_tanh = partial(sym.Activation, act_type="tanh")


class _DenseCell(BaseRNNCell):
    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **bias: Any) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._variables = {
            "i2h": (self.params.get("i2h_weight"), self.params.get("i2h_bias", **bias)),
            "h2h": (self.params.get("h2h_weight"), self.params.get("h2h_bias")),
        }
        # MXNet's names, which subclasses in scripts use.
        self._iW, self._iB = self._variables["i2h"]
        self._hW, self._hB = self._variables["h2h"]

    @property
    def state_info(self) -> list[StateInfo]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _gates(self, inputs: Symbol, state: Symbol, prefix: str) -> tuple[Symbol, Symbol]:
        units = self._num_hidden * len(self._gate_names)
        i2h, h2h = (
            sym.FullyConnected(data, weight, bias, num_hidden=units, name=f"{prefix}{group}")
            for data, (group, (weight, bias)) in zip(
                (inputs, state), self._variables.items(), strict=True
            )
        )
        return i2h, h2h


class RNNCell(_DenseCell):
    """Recurrent cell, ``h' = activation(x W^T + b + h R^T + c)``.

    num_hidden
        The number of units of output and state, H.
    activation
        The name of a function of Activation, or a function of symbols.

    x is (batch, features), output and state (batch, H). Variables: ``i2h_weight`` W (H, features),
    ``i2h_bias`` b (H,), ``h2h_weight`` R (H, H), ``h2h_bias`` c (H,).
    """

    def __init__(
        self,
        num_hidden: int,
        activation: Activation = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation: Activation = activation

    _gate_names = GATE_NAMES["rnn_tanh"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h, h2h = self._gates(inputs, states[0], name)
        return rnn_step(sym, i2h, h2h, name, partial(apply_activation, activation=self._activation))


class LSTMCell(_DenseCell):
    """Long short-term memory with states h and c: ``c' = s(f) c + s(i) tanh(g)``, ``h' = s(o)
    tanh(c')`` of the gates i, f, g, o. Hochreiter and Schmidhuber 1997.

    num_hidden
        The number of units of output and of each state, H.
    forget_bias
        The initial value of the forget gate's bias (``mx.init.LSTMBias``).

    Variables: as RNNCell's, with the gates' rows in blocks of H; ``i2h_weight`` is (4 H, features).

    >>> import executorkit as mx
    >>> cell = LSTMCell(5, prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> arguments, (output,), _ = outputs.infer_shape(data=(2, 3, 4))
    >>> dict(zip(outputs.list_arguments(), arguments))["lstm_i2h_weight"], output
    ((20, 4), (2, 3, 5))
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(num_hidden, prefix, params, init=init.LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self) -> list[StateInfo]:
        return super().state_info * 2

    _gate_names = GATE_NAMES["lstm"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        gates = lstm_gates(sym, *self._gates(inputs, states[0], name), name)
        return lstm_step(sym, gates, states[1], name, _tanh)


class GRUCell(_DenseCell):
    """Gated recurrent unit in cuDNN's variant: ``n = tanh(x_n + s(r) h_n)``, ``h' = (1 - s(z)) n +
    s(z) h`` of the gates r, z, n of input and state. Arguments and variables: as
    :class:`LSTMCell`'s. Cho et al. 2014, except that the reset gate is applied after the product of
    state and weight."""

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    _gate_names = GATE_NAMES["gru"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h, h2h = self._gates(inputs, states[0], f"{name}_")
        return gru_step(sym, i2h, h2h, states[0], name, activate=_tanh, separator="_")


class DropoutCell(BaseRNNCell):
    """Dropout of the input in training, without states; a layer of SequentialRNNCell."""

    def __init__(
        self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, Number):
            raise ArgumentValueError("DropoutCell: dropout", f"{dropout!r}, expected a number")
        self.dropout = dropout

    @property
    def state_info(self) -> list[StateInfo]:
        return []

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        if self.dropout > 0:
            inputs = sym.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None) -> Outputs:
        self.reset()
        sequence = merge_or_split(length, inputs, layout, merge_outputs)
        if isinstance(sequence, Symbol):
            return self(sequence, [])
        return super().unroll(length, sequence, begin_state, layout, merge_outputs)
