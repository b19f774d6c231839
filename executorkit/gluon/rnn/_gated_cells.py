"""Recurrent cells of dense layers: RNNCell, LSTMCell, GRUCell; their nodes have MXNet's names.

>>> import executorkit as mx
>>> cell = mx.gluon.rnn.LSTMCell(3)
>>> cell.initialize()
>>> outputs, states = cell.unroll(4, mx.nd.ones((2, 4, 5)), merge_outputs=True)
>>> outputs.shape, [state.shape for state in states]
((2, 4, 3), [(2, 3), (2, 3)])
>>> cell
LSTMCell(5 -> 12)
"""

from collections.abc import Sequence
from typing import Any

from ._recurrent_cell import HybridRecurrentCell


class DenseCell(HybridRecurrentCell):
    """Base of cells with gates ``x W^T + b`` and ``h R^T + c``.

    hidden_size
        number of units of output and state, H.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        initializers of W, R, b and c.
    input_size
        number of features of the input, I; 0: known when the cell is first called.

    Parameters: ``i2h_weight`` W (G H, I), ``h2h_weight`` R (G H, H), ``i2h_bias`` b and
    ``h2h_bias`` c (G H,), for G gates in blocks of H rows.
    Inputs: x (N, I), states (N, H). Output: (N, H).
    """

    #: Number of gates, and of states.
    _gates = 1
    _states = 1
    i2h_weight: Any

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
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
        """Number of elements of the state that the gates take."""
        return self._hidden_size

    def _further_weights(self) -> Sequence[tuple[str, tuple[int, ...], Any]]:
        """Names, shapes and initializers of other weights."""
        return ()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [
            {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
            for _ in range(self._states)
        ]

    def _dense(
        self, F: Any, inputs: Any, state: Any, weights: tuple[Any, Any], biases: tuple[Any, Any]
    ) -> tuple[Any, Any]:
        """The gates of input and state."""
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
    """``h' = activation(x W^T + b + h R^T + c)``.

    activation
        the name of one of Activation's functions, a LeakyReLU, or a function.

    Other arguments, parameters and shapes are those of its base class, with one gate.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
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
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
        i2h_bias: Any, h2h_bias: Any,
    ) -> Any:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        prefix = self._step_prefix()
        gates = F.elemwise_add(i2h, h2h, name=f"{prefix}plus0")
        output = self._get_activation(F, gates, self._activation, name=f"{prefix}out")
        return output, [output]


class LSTMCell(DenseCell):
    """Long short-term memory: ``c' = s(f) c + s(i) act(g)``, ``h' = s(o) act(c')`` of the gates i,
    f, g, o, with states h and c.

    activation, recurrent_activation
        act, and s.

    Other arguments, parameters and shapes are those of its base class, with four gates in the
    order i, f, g, o. Hochreiter and Schmidhuber 1997.
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
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
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
        i2h_bias: Any, h2h_bias: Any,
    ) -> Any:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        name, activate = self._step_prefix(), self._get_activation
        gates = F.elemwise_add(i2h, h2h, name=f"{name}plus0")
        i, f, g, o = F.SliceChannel(gates, num_outputs=4, name=f"{name}slice")
        i, f = (
            activate(F, gate, self._recurrent_activation, name=name + letter)
            for gate, letter in ((i, "i"), (f, "f"))
        )
        g = activate(F, g, self._activation, name=f"{name}c")
        o = activate(F, o, self._recurrent_activation, name=f"{name}o")
        kept = F.elemwise_mul(f, states[1], name=f"{name}mul0")
        cell = F.elemwise_add(kept, F.elemwise_mul(i, g, name=f"{name}mul1"), name=f"{name}state")
        if isinstance(self._activation, str):
            shown = F.Activation(cell, act_type=self._activation, name=f"{name}activation0")
        else:
            shown = activate(F, cell, self._activation, name=f"{name}activation0")
        output = F.elemwise_mul(o, shown, name=f"{name}out")
        return output, [output, cell]


class GRUCell(DenseCell):
    """Gated recurrent unit, in cuDNN's variant: ``n = tanh(x_n + s(r) h_n)``,
    ``h' = (1 - s(z)) n + s(z) h`` of the gates r, z, n of input and state.

    Arguments, parameters and shapes are those of its base class, with three gates in the order r,
    z, n. Cho et al. 2014, except that the reset gate comes after the product of state and weight.
    """

    _gates = 3

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
        i2h_bias: Any, h2h_bias: Any,
    ) -> Any:  # fmt: skip
        i2h, h2h = self._dense(F, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        name = self._step_prefix()
        x_r, x_z, x_n = F.SliceChannel(i2h, num_outputs=3, name=f"{name}i2h_slice")
        h_r, h_z, h_n = F.SliceChannel(h2h, num_outputs=3, name=f"{name}h2h_slice")
        r, z = (
            F.Activation(
                F.elemwise_add(a, b, name=f"{name}plus{i}"), act_type="sigmoid",
                name=f"{name}{gate}_act",
            )
            for i, (gate, a, b) in enumerate((("r", x_r, h_r), ("z", x_z, h_z)))
        )  # fmt: skip
        new = F.elemwise_add(x_n, F.elemwise_mul(r, h_n, name=f"{name}mul0"), name=f"{name}plus2")
        new = F.Activation(new, act_type="tanh", name=f"{name}h_act")
        ones = F.ones_like(z, name=f"{name}ones_like0")
        taken = F.elemwise_mul(
            F.elemwise_sub(ones, z, name=f"{name}minus0"), new, name=f"{name}mul1"
        )
        kept = F.elemwise_mul(z, states[0], name=f"{name}mul20")
        output = F.elemwise_add(taken, kept, name=f"{name}out")
        return output, [output]
