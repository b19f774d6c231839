"""Recurrent cells of dense layers, and dropout; their nodes have MXNet's names."""

from collections.abc import Sequence
from numbers import Number
from typing import Any

from .. import initializer as init, symbol as sym
from ..errors import ArgumentValueError
from ..ops.nn.rnn_parameters import GATE_NAMES
from ..symbol import Symbol
from ._base_cell import Activation, BaseRNNCell, Outputs, RNNParams, States, apply_activation
from ._unrolling import merge_or_split


class _DenseCell(BaseRNNCell):
    """A cell with gates ``input W^T + b`` and ``h R^T + c``."""

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
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _gates(self, group: str, inputs: Symbol, prefix: str) -> Symbol:
        weight, bias = self._variables[group]
        return sym.FullyConnected(
            data=inputs,
            weight=weight,
            bias=bias,
            num_hidden=self._num_hidden * len(self._gate_names),
            name=f"{prefix}{group}",
        )


class RNNCell(_DenseCell):
    """``h' = activation(x W^T + b + h R^T + c)``.

    num_hidden
        units of output and state, H.
    activation
        the name of one of Activation's functions, or a function of symbols.

    x is (batch, features), output and state (batch, H). Variables: i2h_weight W (H, features),
    i2h_bias b (H,), h2h_weight R (H, H), h2h_bias c (H,).
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
        i2h = self._gates("i2h", inputs, name)
        h2h = self._gates("h2h", states[0], name)
        output = apply_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


def lstm_step(
    gates: Sequence[Symbol], cell: Symbol, activation: Activation, name: str
) -> tuple[Symbol, States]:
    """``cell' = s(f) cell + s(i) act(g)``, ``h' = s(o) act(cell')`` of the gates i, f, g, o."""
    i, f = (
        sym.Activation(gate, act_type="sigmoid", name=name + letter)
        for gate, letter in zip(gates[:2], "if", strict=True)
    )
    new = apply_activation(gates[2], activation, name=f"{name}c")
    o = sym.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
    next_cell = sym._internal._plus(f * cell, i * new, name=f"{name}state")
    output = sym._internal._mul(o, apply_activation(next_cell, activation), name=f"{name}out")
    return output, [output, next_cell]


def gru_step(
    i2h: Symbol, h2h: Symbol, state: Symbol, activation: Activation, name: str
) -> tuple[Symbol, States]:
    """``h' = (1 - s(z)) act(n_x + s(r) n_h) + s(z) h`` of the gates r, z, n of input and state."""
    r_x, z_x, n_x = sym.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
    r_h, z_h, n_h = sym.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")
    r = sym.Activation(r_x + r_h, act_type="sigmoid", name=f"{name}_r_act")
    z = sym.Activation(z_x + z_h, act_type="sigmoid", name=f"{name}_z_act")
    new = apply_activation(n_x + r * n_h, activation, name=f"{name}_h_act")
    output = sym._internal._plus((1.0 - z) * new, z * state, name=f"{name}out")
    return output, [output]


class LSTMCell(_DenseCell):
    """Long short-term memory: states h and cell, see :func:`lstm_step`, with tanh.

    num_hidden
        units of output and of each state, H.
    forget_bias
        initial value of the forget gate's bias (``mx.init.LSTMBias``).

    Variables as RNNCell's, with the rows of the gates i, f, c, o in blocks of H: i2h_weight is
    (4 H, features). Hochreiter and Schmidhuber 1997.

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
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    _gate_names = GATE_NAMES["lstm"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h = self._gates("i2h", inputs, name)
        h2h = self._gates("h2h", states[0], name)
        gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        return lstm_step(list(gates), states[1], "tanh", name)


class GRUCell(_DenseCell):
    """Gated recurrent unit, in cuDNN's variant: see :func:`gru_step`, with tanh.

    num_hidden
        units of output and state, H.

    Variables as RNNCell's, with the rows of the gates r, z, o in blocks of H. Cho et al. 2014,
    except that the reset gate is applied after the product of state and weight.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    _gate_names = GATE_NAMES["gru"]

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        name = self._step_prefix()
        i2h = self._gates("i2h", inputs, f"{name}_")
        return gru_step(i2h, self._gates("h2h", states[0], f"{name}_"), states[0], "tanh", name)


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
    def state_info(self) -> list[dict[str, Any]]:
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
