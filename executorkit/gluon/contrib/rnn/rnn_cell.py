"""``mx.gluon.contrib.rnn.rnn_cell``: variational dropout, projected LSTM, unrolling by an operator.

>>> import executorkit as mx
>>> cell = mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.GRUCell(3), drop_states=0.5)
>>> cell.initialize()
>>> cell.unroll(4, mx.nd.ones((2, 4, 5)), merge_outputs=True)[0].shape
(2, 4, 3)
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ....errors import ArgumentValueError
from ....ops.nn.recurrent_cells import lstm_gates, lstm_step
from ..._parameter_dict import ParameterDict
from ..._types import Init, Ops, StateInfo, States, Tensor
from ...rnn.rnn_cell import BidirectionalCell, DenseCell, ModifierCell, SequentialRNNCell
from ...rnn.sequences import (
    Layout,
    check_inputs,
    first_states,
    is_merged,
    masked,
    merge_or_split,
    namespace_of,
)


class VariationalDropoutCell(ModifierCell):
    """Variational dropout: in training, the same elements are dropped at all steps of a sequence.

    drop_inputs, drop_outputs
        The fractions of the base cell's inputs and outputs.
    drop_states
        The fraction of its first state. Raises AssertionError for a cell that cannot be stepped.

    ``reset``, which ``unroll`` calls, draws new elements. Gal and Ghahramani 2016,
    https://arxiv.org/abs/1512.05287.
    """

    def __init__(
        self,
        base_cell: Any,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        parts = [base_cell]
        if isinstance(base_cell, SequentialRNNCell):
            parts += base_cell._children.values()
        if drop_states and any(isinstance(cell, BidirectionalCell) for cell in parts):
            problem = "a BidirectionalCell cannot be stepped, and keeps its states"
            hint = "VariationalDropoutCell of the cells inside"
            raise ArgumentValueError("VariationalDropoutCell", problem, hint=hint)
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def __repr__(self) -> str:
        shares = f"p_out = {self.drop_outputs}, p_state = {self.drop_states}"
        return f"{type(self).__name__}({shares})"

    def reset(self) -> None:
        super().reset()
        self.drop_inputs_mask = self.drop_states_mask = self.drop_outputs_mask = None

    def _mask(self, F: Ops, of: str, share: float, values: Tensor) -> Tensor:
        mask = getattr(self, f"drop_{of}_mask")
        if not isinstance(mask, type(values)):  # none yet, or a symbol of a trace
            mask = F.Dropout(F.ones_like(values), p=share)
            setattr(self, f"drop_{of}_mask", mask)
        return mask

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        if self.drop_states:
            states = list(states)
            # State 0 is the one that recurs; others, such as an LSTM's cell, are kept whole.
            states[0] = states[0] * self._mask(F, "states", self.drop_states, states[0])
        if self.drop_inputs:
            inputs = inputs * self._mask(F, "inputs", self.drop_inputs, inputs)
        output, states = self.base_cell(inputs, states)
        if self.drop_outputs:
            output = output * self._mask(F, "outputs", self.drop_outputs, output)
        return output, states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        axes = Layout.of(layout)
        axis = axes.time
        check_inputs(length, inputs, axis)
        sequence = merge_or_split(length, inputs, axis, True)
        states = first_states(self, begin_state, sequence, axes)
        dropout = namespace_of(sequence).Dropout
        if self.drop_inputs:
            sequence = dropout(sequence, p=self.drop_inputs, axes=(axis,))
        outputs, states = self.base_cell.unroll(
            length, sequence, states, layout, merge_outputs=True, valid_length=valid_length
        )
        if self.drop_outputs:
            outputs = dropout(outputs, p=self.drop_outputs, axes=(axis,))
        merge = is_merged(outputs, merge_outputs)
        outputs = merge_or_split(length, outputs, axis, merge)
        if valid_length is not None:
            outputs = masked(length, outputs, valid_length, axis, merge)
        return outputs, states


class LSTMPCell(DenseCell):
    """Long short-term memory with projection: states r (N, P) and c (N, H), gates of x and r,
    ``r' = h' V^T``. :class:`~executorkit.gluon.rnn.LSTMCell` describes the other arguments.

    projection_size
        The number of units of the output, P.
    h2r_weight_initializer
        The initializer of V.

    Parameters: ``i2h_weight`` (4 H, I), ``h2h_weight`` (4 H, P), ``h2r_weight`` V (P, H),
    ``i2h_bias`` and ``h2h_bias`` (4 H,). Sak et al. 2014, https://arxiv.org/abs/1402.1128.
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        h2r_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        self._projection_size = projection_size
        self._h2r_weight_initializer = h2r_weight_initializer
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer, input_size=input_size, prefix=prefix, params=params,
        )  # fmt: skip

    def _recurrent_size(self) -> int:
        return self._projection_size

    def _further_weights(self) -> Sequence[tuple[str, tuple[int, ...], Any]]:
        shape = self._projection_size, self._hidden_size
        return [("h2r_weight", shape, self._h2r_weight_initializer)]

    def _alias(self) -> str:
        return "lstmp"

    def _text_of_options(self) -> str:
        return f" -> {self._projection_size}"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        sizes = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
        h2r_weight: Tensor, i2h_bias: Tensor, h2h_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        parameters = i2h_weight, h2h_weight, i2h_bias, h2h_bias
        return super().hybrid_forward(F, inputs, states, *parameters, h2r_weight=h2r_weight)

    def _step(
        self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str, h2r_weight: Tensor = None
    ) -> Tensor:
        gates = lstm_gates(F, i2h, h2h, name)
        tanh = partial(F.Activation, act_type="tanh")
        hidden, (_, cell) = lstm_step(F, gates, states[1], name, tanh, output_name="hidden")
        output = F.FullyConnected(
            data=hidden, num_hidden=self._projection_size, weight=h2r_weight, no_bias=True,
            name=f"{name}out",
        )  # fmt: skip
        return output, [output, cell]


def dynamic_unroll(
    cell: Any,
    inputs: Tensor,
    begin_state: States,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Tensor = None,
) -> tuple[Tensor, States]:
    """Returns the outputs of all steps, and the states after the last, by the operator ``foreach``:
    symbols may have any number of steps.

    cell
        A cell that can be stepped.
    inputs
        An array or symbol (T, N, ...) or, with the layout 'NTC', (N, T, ...).
    begin_state
        The states before the first step.
    drop_inputs, drop_outputs
        The fractions of inputs and outputs dropped in training, the same at all steps.
    valid_length
        An array or symbol (N,), as for :meth:`RecurrentCell.unroll`.

    >>> import executorkit as mx
    >>> cell = mx.gluon.rnn.RNNCell(3)
    >>> cell.initialize()
    >>> dynamic_unroll(cell, mx.nd.ones((4, 2, 5)), cell.begin_state(2))[0].shape
    (4, 2, 3)
    """
    axis = Layout.of(layout).time
    functions = namespace_of(inputs)
    if axis == 1:
        inputs = functions.transpose(inputs, axes=[1, 0, 2])
    if drop_inputs:
        inputs = functions.Dropout(inputs, p=drop_inputs, axes=(axis,))
    states = list(begin_state)
    if valid_length is None:
        outputs, last = functions.contrib.foreach(cell, inputs, states)
    else:

        def step(x: Tensor, carried: Any) -> Any:
            *old, number = carried
            output, new = cell(x, old)
            is_valid = functions.broadcast_greater(valid_length, number)
            kept = [functions.where(is_valid, a, b) for a, b in zip(new, old, strict=True)]
            return output, [*kept, number + 1]

        outputs, (*last, _) = functions.contrib.foreach(step, inputs, [*states, functions.zeros(1)])
    if drop_outputs:
        outputs = functions.Dropout(outputs, p=drop_outputs, axes=(axis,))
    if axis == 1:
        outputs = functions.transpose(outputs, axes=[1, 0, 2])
    if valid_length is not None:
        outputs = functions.SequenceMask(
            outputs, sequence_length=valid_length, use_sequence_length=True, axis=axis
        )
    return outputs, last
