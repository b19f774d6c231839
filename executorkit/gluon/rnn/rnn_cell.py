"""Cells of recurrent networks: dense ones, cells that contain cells, and functions for libraries'
cells. Their nodes have MXNet's names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from numbers import Number
from typing import Any

from ... import ndarray, symbol
from ..._support.annotations import Attrs, Function
from ..._support.described_arguments import DescribesArguments
from ...errors import ArgumentValueError, NotSupportedError
from ...ndarray.array_classes import as_new_arrays
from ...ops.nn.recurrent_cells import CountedSteps, gru_step, lstm_gates, lstm_step, rnn_step
from ...symbol import Symbol
from .._block import Block
from .._hybrid_block import HybridBlock
from .._parameter import tensor_types
from .._parameter_dict import ParameterDict
from .._types import Init, Ops, StateInfo, States, Tensor
from ..nn import LeakyReLU
from .sequences import (
    Layout,
    check_inputs,
    first_states,
    first_step,
    is_merged,
    last_valid,
    masked,
    merge_or_split,
    namespace_of,
    reversed_steps,
)


class RecurrentCell(CountedSteps, Block):
    """Base class of cells: ``output, states = cell(inputs, states)`` is one step.

    A subclass overrides ``state_info`` and ``forward`` (``hybrid_forward`` of a
    :class:`HybridRecurrentCell`). A step's input is (N, ...), each state an array or symbol of a
    list.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.reset()

    def reset(self) -> None:
        """Begins a new sequence: counts the steps and states, which are in names, from 0."""
        cells = self._children.values()
        self._reset_counters(cell for cell in cells if isinstance(cell, RecurrentCell))

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns shape and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__}: state_info")

    def begin_state(
        self, batch_size: int = 0, func: Function = ndarray.zeros, **kwargs: Any
    ) -> list[Any]:
        """Returns the states before the first step.

        func
            A function that creates a state from ``name``, ``shape``, ``__layout__`` (and ``dtype``
            for layers) and ``kwargs``: ``mx.nd.zeros``, ``mx.sym.zeros``, or ``mx.sym.var`` for
            states that are inputs.

        Raises AssertionError for a cell inside a modifier cell.
        """
        infos = self.state_info(batch_size)
        states = self._initial_states(func, ({**(info or {}), **kwargs} for info in infos))
        return as_new_arrays(states)

    def unroll(
        self,
        length: int,
        inputs: Tensor,
        begin_state: States = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:
        """Returns the outputs of ``length`` steps, and the states after the last.

        length
            The number of steps. Raises AssertionError if the inputs have another one.
        inputs
            An array or symbol of all steps, (N, T, ...) or, with the layout 'TNC', (T, N, ...); or
            a list of one for each step.
        begin_state
            The states before the first step; by default zeros.
        layout
            'NTC' or 'TNC'.
        merge_outputs
            True: one array or symbol in ``layout``; False: a list of one for each step; None: a
            list, or merged if there is a ``valid_length``.
        valid_length
            An array or symbol (N,), the length of each row: later outputs are zero, and states are
            the states after the last valid step.
        """
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        steps = merge_or_split(length, inputs, axes.time, False)
        states = first_states(self, begin_state, steps, axes)
        outputs = []
        all_states = []
        for i in range(length):
            output, states = self(steps[i], states)
            outputs.append(output)
            all_states.append(states)
        if valid_length is not None:
            states = last_valid(all_states, valid_length)
            outputs = masked(length, outputs, valid_length, axes.time, True)
        return merge_or_split(length, outputs, axes.time, merge_outputs), states

    def _get_activation(self, F: Ops, inputs: Tensor, activation: Any, **kwargs: Any) -> Tensor:
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Tensor, states: States) -> Tensor:
        """Returns the output and the new states of one step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A :class:`RecurrentCell` whose ``hybrid_forward(F, inputs, states, **parameters)`` computes
    with arrays and symbols."""

    def hybrid_forward(self, F: Ops, x: Tensor, *args: Tensor, **kwargs: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: hybrid_forward")

    def _step_prefix(self) -> str:
        return f"t{self._counter}_"


class GatedCell(DescribesArguments, HybridRecurrentCell):
    """Base of cells whose gates are sums of a layer of the input and a layer of the state."""

    #: Number of gates, and of states.
    _gates = 1
    _states = 1
    #: The operator of both layers; its attributes for the input ('i2h') and the state ('h2h').
    _operator = "FullyConnected"
    _attributes: dict[str, Attrs]
    #: The shape of a state without its batch, and its layout.
    _state_shape: tuple[int, ...]
    _state_layout = "NC"
    i2h_weight: Tensor

    def _make_parameters(self, *parameters: tuple[str, tuple[int, ...], Init]) -> None:
        for name, shape, init in parameters:
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return [
            {"shape": (batch_size, *self._state_shape), "__layout__": self._state_layout}
            for _ in range(self._states)
        ]

    def hybrid_forward(
        self, F: Ops, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
        i2h_bias: Tensor, h2h_bias: Tensor, **others: Tensor,
    ) -> Tensor:  # fmt: skip
        name, layer = self._step_prefix(), getattr(F, self._operator)
        i2h, h2h = (
            layer(data=data, weight=weight, bias=bias, name=name + k, **self._attributes[k])
            for k, data, weight, bias in (
                ("i2h", inputs, i2h_weight, i2h_bias), ("h2h", states[0], h2h_weight, h2h_bias)
            )
        )  # fmt: skip
        return self._step(F, i2h, h2h, states, name, **others)

    def _step(
        self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str, **others: Tensor
    ) -> Tensor:
        raise NotImplementedError


class DenseCell(GatedCell):
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
        self._state_shape = (hidden_size,)
        rows = self._gates * hidden_size
        self._attributes = {layer: {"num_hidden": rows} for layer in ("i2h", "h2h")}
        self._make_parameters(
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, self._recurrent_size()), h2h_weight_initializer),
            *self._further_weights(),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        )

    def _recurrent_size(self) -> int:
        return self._hidden_size

    def _further_weights(self) -> Sequence[tuple[str, tuple[int, ...], Any]]:
        return ()

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

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
        activate = partial(self._get_activation, F, activation=self._activation)
        return rnn_step(F, i2h, h2h, name, activate, names_all=True)


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

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
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

    def _step(self, F: Ops, i2h: Tensor, h2h: Tensor, states: States, name: str) -> Tensor:
        tanh = partial(F.Activation, act_type="tanh")
        return gru_step(F, i2h, h2h, states[0], name, activate=tanh, names_all=True)


class _Group(RecurrentCell):
    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:
        self._check_not_modified()
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]


class _CellStack(_Group):
    def add(self, cell: Any) -> None:
        """Adds a cell on top."""
        self.register_child(cell)

    def __repr__(self) -> str:
        lines = ("({}): {}".format(k, repr(v).replace("\n", "\n  ")) for k, v in self._items())
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    def _items(self) -> Any:
        return self._children.items()

    def __getitem__(self, i: int | str) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)

    def __call__(self, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        self._counter += 1
        next_states: list[Any] = []
        start = 0
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                problem = "a BidirectionalCell inside cannot be stepped"
                raise ArgumentValueError(type(self).__name__, problem, hint="unroll")
            end = start + len(cell.state_info())
            inputs, states_of_cell = cell(inputs, states[start:end])
            next_states += states_of_cell
            start = end
        return inputs, next_states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        states = first_states(self, begin_state, inputs, axes)
        next_states: list[Any] = []
        cells, start = [*self._children.values()], 0
        for i, cell in enumerate(cells):
            end = start + len(cell.state_info())
            merge = merge_outputs if i == len(cells) - 1 else None
            inputs, states_of_cell = cell.unroll(
                length, inputs=inputs, begin_state=states[start:end], layout=layout,
                merge_outputs=merge, valid_length=valid_length,
            )  # fmt: skip
            next_states += states_of_cell
            start = end
        return inputs, next_states


class SequentialRNNCell(_CellStack):
    """A stack of cells: each takes the output of the one below. It has the states of all."""

    def hybrid_forward(self, *args: Tensor, **kwargs: Any) -> Tensor:
        """Raises NotImplementedError: a stack is called as a block."""
        raise NotImplementedError


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """A stack of cells that are :class:`HybridRecurrentCell`."""

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        return self(inputs, states)


class BidirectionalCell(_Group, HybridRecurrentCell):
    """One cell forward in time and another backward, with concatenated outputs, whose names begin
    with ``output_prefix``. The states of ``l_cell``, the forward cell, come before the states of
    ``r_cell``. It cannot be stepped, because the backward cell begins at the end, with a
    ``valid_length`` at the end of each row."""

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __repr__(self) -> str:
        left, right = self._children.values()
        return f"{type(self).__name__}(forward={left}, backward={right})"

    def __call__(self, inputs: Tensor, states: States) -> Any:
        raise NotSupportedError("BidirectionalCell", "it cannot be stepped", hint="unroll")

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        axis = axes.time
        check_inputs(length, inputs, axis)
        steps = merge_or_split(length, inputs, axis, False)
        states = first_states(self, begin_state, steps, axes)
        left, right = self._children.values()
        count = len(left.state_info())
        forward, left_states = left.unroll(
            length, inputs=steps, begin_state=states[:count], layout=layout,
            merge_outputs=merge_outputs, valid_length=valid_length,
        )  # fmt: skip
        backward, right_states = right.unroll(
            length, inputs=reversed_steps(length, steps, valid_length), begin_state=states[count:],
            layout=layout, merge_outputs=False, valid_length=valid_length,
        )  # fmt: skip
        backward = reversed_steps(length, backward, valid_length)
        merge = is_merged(forward, merge_outputs)
        forward = merge_or_split(length, forward, axis, merge)
        backward = merge_or_split(length, backward, axis, merge)
        concat = namespace_of(first_step(forward)).concat
        if merge:
            outputs = concat(forward, backward, dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                concat(a, b, dim=1, name=f"{self._output_prefix}t{i}")
                for i, (a, b) in enumerate(zip(forward, backward, strict=True))
            ]
        if valid_length is not None:
            outputs = masked(length, outputs, valid_length, axis, merge)
        return outputs, [*left_states, *right_states]


class DropoutCell(HybridRecurrentCell):
    """Dropout of the input in training, without states; a layer of a stack. Elements are dropped
    with probability ``rate``; along ``axes`` they are dropped or kept together."""

    def __init__(
        self,
        rate: float,
        axes: Any = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, Number):
            raise ArgumentValueError("DropoutCell: rate", f"{rate!r}, expected a number")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return []

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        if self._rate > 0:
            name = f"{self._step_prefix()}fwd"
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=name)
        return inputs, states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        inputs = merge_or_split(length, inputs, axes.time, merge_outputs)
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(namespace_of(inputs), inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(HybridRecurrentCell):
    """Base of cells that modify ``base_cell``, which must no longer be called by itself. Parameters
    and states are the base cell's; as in MXNet, states are symbols unless ``func`` creates arrays.
    Raises AssertionError for a cell that is modified already."""

    def __init__(self, base_cell: Any) -> None:
        if base_cell.is_modified:
            problem = f"{base_cell.name} is inside a modifier cell already"
            raise ArgumentValueError(type(self).__name__, problem, hint="modify the modifier cell")
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        base_cell.hand_to_modifier()
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        return self.base_cell.params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Function = symbol.zeros, **kwargs: Any) -> list[Any]:
        self._check_not_modified()
        with self.base_cell.as_unmodified():
            return self.base_cell.begin_state(func=func, **kwargs)


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, the fractions ``zoneout_outputs`` and ``zoneout_states`` of outputs and
    states keep the values of the step before. As in MXNet, inference takes all new values. Raises
    AssertionError for a BidirectionalCell. Krueger et al. 2016, https://arxiv.org/abs/1606.01305.
    """

    def __init__(
        self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            problem = "a BidirectionalCell cannot be stepped"
            raise ArgumentValueError("ZoneoutCell", problem, hint="ZoneoutCell of the cells inside")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def _alias(self) -> str:
        return "zoneout"

    def __repr__(self) -> str:
        shares = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({shares}, {self.base_cell})"

    def reset(self) -> None:
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        new_output, new_states = self.base_cell(inputs, states)

        def zoned_out(share: float, new: Any, old: Any) -> Any:
            mask = F.Dropout(F.ones_like(new), p=share)
            return F.where(mask, new, F.zeros_like(new) if old is None else old)

        # A trace with symbols leaves a symbol here, which later arrays have nothing to do with.
        previous = self._prev_output
        if not isinstance(previous, type(new_output)):
            previous = None
        output = new_output
        if self.zoneout_outputs:
            output = zoned_out(self.zoneout_outputs, new_output, previous)
        if self.zoneout_states:
            new_states = [
                zoned_out(self.zoneout_states, new, old)
                for new, old in zip(new_states, states, strict=True)
            ]
        self._prev_output = output
        return output, new_states


class ResidualCell(ModifierCell):
    """A residual connection: adds the input to the base cell's output of the same shape. Wu et al.
    2016, https://arxiv.org/abs/1609.08144."""

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"{self._step_prefix()}fwd"), states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        with self.base_cell.as_unmodified():
            outputs, states = self.base_cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout,
                merge_outputs=merge_outputs, valid_length=valid_length,
            )  # fmt: skip
        axis, merge = Layout.of(layout).time, is_merged(outputs, merge_outputs)
        inputs = merge_or_split(length, inputs, axis, merge)
        if valid_length is not None:
            inputs = masked(length, inputs, valid_length, axis, merge)
        add = namespace_of(first_step(inputs)).elemwise_add
        if merge:
            return add(outputs, inputs), states
        return [add(a, b) for a, b in zip(outputs, inputs, strict=True)], states


def _cells_state_info(cells: Iterable[Any], batch_size: int) -> list[StateInfo]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _cells_begin_state(cells: Iterable[Any], **kwargs: Any) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _format_sequence(
    length: Any, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Tensor, int, Ops, int]:
    axis, is_list = layout.find("T"), not isinstance(inputs, tensor_types)
    in_axis = axis if in_layout is None or is_list else in_layout.find("T")
    if is_list or merge is False:
        check_inputs(length, inputs, in_axis)
    first = first_step(inputs)
    batch_axis = (layout.replace("T", "") if is_list else layout).find("N")
    batch_size = 0 if isinstance(first, Symbol) else first.shape[batch_axis]
    if merge is False and not is_list:
        length = length or inputs.shape[in_axis]
    steps = merge_or_split(length, inputs, in_axis, merge)
    functions = namespace_of(first)
    if axis != in_axis and isinstance(steps, tensor_types):
        steps = functions.swapaxes(steps, dim1=axis, dim2=in_axis)
    return steps, axis, functions, batch_size


def _get_begin_state(
    cell: Any, F: Ops, begin_state: States, inputs: Tensor, batch_size: int
) -> States:
    if begin_state is not None:
        return begin_state
    first = first_step(inputs)
    if isinstance(first, Symbol):
        return cell.begin_state(func=F.zeros, batch_size=0)
    with first.context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)


def _mask_sequence_variable_length(
    F: Ops, data: Tensor, length: int, valid_length: Tensor, time_axis: int, merge: bool
) -> Tensor:
    return masked(length, data, valid_length, time_axis, merge)


def _reverse_sequences(sequences: Any, unroll_step: int, valid_length: Tensor = None) -> list[Any]:
    return reversed_steps(unroll_step, sequences, valid_length)
