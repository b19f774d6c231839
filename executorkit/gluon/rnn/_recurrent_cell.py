"""``RecurrentCell``, the base class of cells."""

from __future__ import annotations

from typing import Any

from ... import ndarray
from ..._support.annotations import Function
from ...ndarray.array_classes import as_new_arrays
from ...ops.nn.recurrent_cells import CountedSteps
from .._block import Block
from .._hybrid_block import HybridBlock
from .._parameter_dict import ParameterDict
from .._types import Ops, StateInfo, States, Tensor
from ..nn import LeakyReLU
from .sequences import Layout, check_inputs, first_states, last_valid, masked, merge_or_split


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
