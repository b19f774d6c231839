"""Recurrent cells of dense layers; their nodes have MXNet's names."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..._support.described_arguments import DescribesArguments
from ...ops.nn.recurrent_cells import gru_step, lstm_gates, lstm_step, rnn_step
from .._parameter_dict import ParameterDict
from .._types import Init, Ops, StateInfo, States, Tensor
from ._recurrent_cell import HybridRecurrentCell


class DenseCell(DescribesArguments, HybridRecurrentCell):
    """Base of cells with gates ``x W^T + b`` and ``h R^T + c``.

    hidden_size
        The number of units of output and state, H.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        The initializers of W, R, b and c.
    input_size
        The number of features of the input, I. 0: taken from the first input.

    Parameters: ``i2h_weight`` W (G H, I), ``h2h_weight`` R (G H, H), ``i2h_bias`` b and
    ``h2h_bias`` c (G H,), for G gates in blocks of H rows.
    Inputs: x (N, I), states (N, H). Output: (N, H).
    """

    #: Number of gates, and of states.
    _gates = 1
    _states = 1
    i2h_weight: Tensor

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        rows = self._gates * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, self._recurrent_size()), h2h_weight_initializer),
            *self._further_weights(),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def _recurrent_size(self) -> int:
        return self._hidden_size

    def _further_weights(self) -> Sequence[tuple[str, tuple[int, ...], Any]]:
        return ()

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return [
            {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
            for _ in range(self._states)
        ]

    def _dense(
        self, F: Ops, inputs: Tensor, state: Any, weights: tuple[Any, Any], biases: tuple[Any, Any]
    ) -> tuple[Tensor, States]:
        prefix, count = self._step_prefix(), self._gates * self._hidden_size
        i2h, h2h = (
            F.FullyConnected(
                data=data, weight=weight, bias=bias, num_hidden=count, name=prefix + group
            )
            for group, data, weight, bias in zip(
                ("i2h", "h2h"), (inputs, state), weights, biases, strict=True
            )
        )
        return i2h, h2h

    def __repr__(self) -> str:
        rows, features = self.i2h_weight.shape
        return f"{type(self).__name__}({features or None} -> {rows}{self._text_of_options()})"

    def _text_of_options(self) -> str:
        return ""


class RNNCell(DenseCell):
    """Recurrent cell, ``h' = activation(x W^T + b + h R^T + c)``. The base class describes the
    other arguments.

    activation
        The name of a function of Activation, a LeakyReLU, or a function.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer, input_size=input_size, prefix=prefix, params=params,
        )  # fmt: skip
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def _text_of_options(self) -> str:
        return f", {self._activation}"

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
        i2h_bias: Tensor, h2h_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        activate = partial(self._get_activation, F, activation=self._activation)
        return rnn_step(F, i2h, h2h, self._step_prefix(), activate, names_all=True)


class LSTMCell(DenseCell):
    """Long short-term memory with states h and c: ``c' = s(f) c + s(i) act(g)``, ``h' = s(o)
    act(c')`` of the gates i, f, g, o. The base class describes the other arguments. Hochreiter and
    Schmidhuber 1997.

    activation
        act, by default tanh.
    recurrent_activation
        s, by default sigmoid.

    >>> import executorkit as mx
    >>> cell = mx.gluon.rnn.LSTMCell(3)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(4, mx.nd.ones((2, 4, 5)), merge_outputs=True)
    >>> outputs.shape, [state.shape for state in states]
    ((2, 4, 3), [(2, 3), (2, 3)])
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer, input_size=input_size, prefix=prefix, params=params,
        )  # fmt: skip
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
        i2h_bias: Tensor, h2h_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        name = self._step_prefix()
        gates = lstm_gates(F, i2h, h2h, name, names_all=True)
        activate, gate = (
            partial(self._get_activation, F, activation=activation)
            for activation in (self._activation, self._recurrent_activation)
        )
        of_cell = None
        if isinstance(self._activation, str):
            of_cell = partial(F.Activation, act_type=self._activation)
        return lstm_step(
            F, gates, states[1], name, activate, gate, activate_cell=of_cell, names_all=True
        )


class GRUCell(DenseCell):
    """Gated recurrent unit in cuDNN's variant: ``n = tanh(x_n + s(r) h_n)``, ``h' = (1 - s(z)) n +
    s(z) h`` of the gates r, z, n of input and state. The base class describes the arguments.

    Cho et al. 2014, except that the reset gate is applied after the product of state and weight.
    """

    _gates = 3

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
        i2h_bias: Tensor, h2h_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        tanh = partial(F.Activation, act_type="tanh")
        return gru_step(F, i2h, h2h, states[0], self._step_prefix(), activate=tanh, names_all=True)
