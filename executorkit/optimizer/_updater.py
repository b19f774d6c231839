"""``Updater``: an optimizer together with the states of the parameters it updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..context import Context
from ..ndarray import NDArray
from ._apply_rules import (
    PlannedUpdate,
    apply_rules,
    check_arrays,
    plan_update,
    same_shape_and_dtype,
)
from ._optimizer import Optimizer
from ._rule import State
from ._state_pickle import dump_states, load_states


class Updater:
    """Updates parameters by index, making their states when it first sees them.

    ``updater(index, grad, weight)`` updates one weight in place; with lists, each of them, in one
    compiled call unless the optimizer's class overrides ``update``.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, State] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if isinstance(index, list | tuple):
            indices, grads, weights = list(index), grad, weight
        else:
            indices, grads, weights = [index], [grad], [weight]
        if not indices:
            return
        optimizer = self.optimizer
        optimizer._set_current_context(weights[0].context.device_id)
        indices = [i.decode() if isinstance(i, bytes) else i for i in indices]
        self._prepare_all(indices, weights)
        for batch in self._batches(indices, grads, weights):
            self._update(*batch)

    def _prepare_all(self, indices: Sequence[Any], weights: Sequence[NDArray]) -> None:
        ready = self.states_synced.get
        for i, w in zip(indices, weights, strict=True):
            if ready(i) is not True:
                self._prepare(i, w)

    def _prepare(self, index: Any, weight: NDArray) -> None:
        """Makes the state of a parameter, or moves a loaded one to its weight's context."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced[index]:
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def _batches(
        self, indices: list[Any], grads: Sequence[Any], weights: Sequence[Any]
    ) -> list[tuple[list[Any], list[Any], list[Any]]]:
        """Indices, gradients and weights that are updated together: of one dtype, in MXNet's
        order."""
        if not self.aggregate_updates:
            return [(indices, list(grads), list(weights))]
        dtypes = [w.dtype for w in weights]
        if dtypes.count(dtypes[0]) == len(dtypes):
            return [(indices, list(grads), list(weights))]
        batches: dict[Any, tuple[list[Any], list[Any], list[Any]]] = {}
        for dtype, *parameter in zip(dtypes, indices, grads, weights, strict=True):
            for column, x in zip(batches.setdefault(dtype, ([], [], [])), parameter, strict=True):
                column.append(x)
        return list(batches.values())

    def _update(self, indices: list[Any], grads: list[Any], weights: list[Any]) -> None:
        optimizer = self.optimizer
        states = [self.states[i] for i in indices]
        rules = optimizer._pure_rules(indices, weights)
        if rules is None:
            for i, w, g, s in zip(indices, weights, grads, states, strict=True):
                optimizer.update_multi_precision(i, w, g, s)
            return
        for i, w, g in zip(indices, weights, grads, strict=True):
            if not same_shape_and_dtype(w, g):
                name = f"{type(optimizer).__name__}: parameter {optimizer.idx2name.get(i, i)!r}"
                check_arrays(name, w, g)
        hyperparams = optimizer._count_step(indices, optimizer.aggregate_num or 1)
        apply_rules(rules, weights, grads, states, hyperparams)

    def plan_update(
        self, indices: Sequence[Any], weights: Sequence[NDArray]
    ) -> PlannedUpdate | None:
        """Counts one step for parameters and returns it, for a program that computes it together
        with the gradients. None, and nothing has changed, if the optimizer's class overrides
        ``update``."""
        optimizer = self.optimizer
        rules = optimizer._pure_rules(indices, weights)
        if rules is None:
            return None
        optimizer._set_current_context(weights[0].context.device_id)
        self._prepare_all(indices, weights)
        return plan_update(rules, optimizer._count_step(indices, optimizer.aggregate_num or 1))

    def sync_state_context(self, state: State, context: Context) -> State:
        """A state with its arrays in ``context``."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, tuple | list):
            return type(state)(self.sync_state_context(s, context) for s in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states as bytes that MXNet reads, with ``dump_optimizer`` the optimizer too."""
        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)

    def set_states(self, states: bytes) -> None:
        """Takes over the states in bytes that :meth:`get_states` returned, here or in MXNet.

        FileFormatError for anything else: nothing is imported or run that the bytes may name.
        """
        loaded = load_states(states)
        if isinstance(loaded, tuple):
            self.states, self.optimizer = loaded
            self.aggregate_updates = self.optimizer.aggregate_num > 0
        else:
            self.states = loaded
        self.states_synced = dict.fromkeys(self.states, False)


def get_updater(optimizer: Optimizer) -> Updater:
    """The function that updates a parameter by an optimizer: an :class:`Updater`."""
    return Updater(optimizer)
