"""``RecurrentCell``, the base class of cells: states, one step, and unrolled sequences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ... import ndarray
from ...errors import ArgumentValueError
from .._block import Block
from .._hybrid_block import HybridBlock
from ..nn import LeakyReLU
from .sequences import Layout, check_inputs, first_states, last_valid, masked, merge_or_split


class RecurrentCell(Block):
    """Base class of cells: ``output, states = cell(inputs, states)`` is one step.

    A subclass writes ``forward`` (of a :class:`HybridRecurrentCell` ``hybrid_forward``) and
    ``state_info``. A batch of steps is (N, ...), each state an array or symbol of a list.
    """

    _modified = False

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.reset()

    def reset(self) -> None:
        """Begins a new sequence: steps and initial states, whose numbers are parts of names, are
        counted from 0."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__}: state_info")

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any
    ) -> list[Any]:
        """States before the first step.

        func
            makes one from ``name``, ``shape``, ``__layout__`` and ``kwargs``: ``mx.nd.zeros``,
            ``mx.sym.zeros``, or ``mx.sym.var`` for states that are inputs.

        AssertionError for a cell inside a modifier cell.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**(info or {}), **kwargs}))
        return states

    def _hand_to_modifier(self) -> None:
        """Makes a modifier cell the only caller of this cell."""
        self._modified = True

    @contextlib.contextmanager
    def _as_unmodified(self) -> Iterator[None]:
        """Lets the modifier cell call ``begin_state`` and ``unroll`` in a ``with`` block."""
        self._modified = False
        try:
            yield
        finally:
            self._modified = True

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ArgumentValueError(
                f"{type(self).__name__}.begin_state",
                "the cell is inside a modifier cell, which is called in its place",
                hint="begin_state of the modifier cell",
            )

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """The outputs of ``length`` steps, and the states after the last.

        inputs
            an array or symbol of all steps, (N, T, ...) or, if ``layout`` is 'TNC', (T, N, ...); or
            a list of one for each step.
        begin_state
            the states before the first step, by default zeros.
        merge_outputs
            True: one array or symbol in ``layout``; False: a list of one for each step; None: a
            list, or merged if there is a ``valid_length``.
        valid_length
            array or symbol (N,), the length of each row: outputs behind it are zero, the states are
            those after its last step.

        AssertionError if there are not ``length`` steps.
        """
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        steps = merge_or_split(length, inputs, axes.time, False)
        states = first_states(self, begin_state, steps, axes)
        outputs: Any = []
        all_states = []
        for i in range(length):
            output, states = self(steps[i], states)
            outputs.append(output)
            all_states.append(states)
        if valid_length is not None:
            states = last_valid(all_states, valid_length)
            outputs = masked(length, outputs, valid_length, axes.time, True)
        return merge_or_split(length, outputs, axes.time, merge_outputs), states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation of ``inputs``: by name, a LeakyReLU, or a function or block."""
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: Any) -> Any:
        """One step: the output and the new states for an input and states."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A :class:`RecurrentCell` whose ``hybrid_forward(F, inputs, states, **parameters)`` works on
    arrays and on symbols."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: hybrid_forward")

    def _step_prefix(self) -> str:
        """Beginning of the names of this step's nodes; the scope adds the cell's prefix."""
        return f"t{self._counter}_"
