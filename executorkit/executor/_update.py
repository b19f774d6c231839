"""An update that ends a run: it becomes a part of the program that computes its gradients."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program._stepping import StepSpec, UpdateSpec

if TYPE_CHECKING:
    from ._run import PendingStep


class PendingUpdate:
    """Updates that wait for a run's gradients.

    An update is a :class:`UpdateSpec` with its state: a pytree of cells (NDArrays, or the stacked arrays
    of a group), which, like the weights, promise their new contents until the run is resolved.
    """

    __slots__ = ("cells", "keep_gradients", "keys", "numbers", "parts", "states")

    def __init__(self, keep_gradients: bool) -> None:
        self.keep_gradients = keep_gradients
        self.parts: list[UpdateSpec] = []
        self.cells: list[list[Any]] = []
        self.states: list[Any] = []
        self.numbers: list[float] = []
        self.keys: list[Any] = []

    @property
    def targets(self) -> int:
        """How many gradients are used."""
        return sum(len(p.targets) for p in self.parts)

    def accumulate(
        self,
        run: PendingStep,
        part: UpdateSpec,
        state: Any,
        numbers: Sequence[float],
        key: Any = None,
    ) -> None:
        """Adds an update of weights whose contents are those of the run's snapshot."""
        executor = run.executor
        cells, tree = jax.tree.flatten(state, is_leaf=_is_cell)
        values = [cell.value for cell in cells]
        weights = [executor.arg_arrays[executor._program.argnums[k]] for k in part.targets]
        self.parts.append(part)
        self.cells.append([*weights, *cells])
        self.states.append(jax.tree.unflatten(tree, values))
        self.numbers += numbers
        self.keys.append(key)
        for cell in (*weights, *cells):
            cell.defer(run)

    def run(self, run: PendingStep, heads: Sequence[Any]) -> tuple[Any, ...]:
        """Runs forward, backward and the updates; returns what ``forward_backward`` does.

        Weights, states and auxiliary states are donated. Whatever someone else still holds (the
        user's ``.jax``, another executor's snapshot) is copied first.
        """
        executor, argnums = run.executor, run.executor._program.argnums
        plan = StepSpec(tuple(self.parts), self.keep_gradients)
        args: list[Any] = list(run.args)
        aux: list[Any] = list(run.aux)
        states, self.states = tuple(self.states), []
        weights = tuple(tuple(args[argnums[k]] for k in p.targets) for p in self.parts)
        backward_states = tuple(aux[n] for n in run._backward_state_indices)
        flat, tree = jax.tree.flatten((weights, states, backward_states))
        for part in self.parts:
            for k in part.targets:
                args[argnums[k]] = None
        for n in run._backward_state_indices:
            aux[n] = None
        del weights, backward_states
        mine = (run.args, run.aux, states)
        flat = _copy_shared(flat)
        numbers = np.array(self.numbers, np.float64)
        new, outputs, side, grads = executor._step_function(run.train, plan)(
            jax.tree.unflatten(tree, flat), tuple(args), tuple(aux), run.key, heads, run.old,
            tuple(self.keys), numbers,
        )  # fmt: skip
        del mine
        new_weights, new_states, new_aux = new
        for part, cells, own, state in zip(
            self.parts, self.cells, new_weights, new_states, strict=True
        ):
            for cell, value in zip(cells, (*own, *jax.tree.leaves(state)), strict=True):
                cell.set_result(run, value)
            for k, value in zip(part.targets, own, strict=True):
                args[argnums[k]] = value
        for n, value in zip(run._backward_state_indices, new_aux, strict=True):
            aux[n] = value
        # What the snapshot held is gone: whoever asks for it again gets what came of it.
        run.args, run.aux = tuple(args), tuple(aux)
        return outputs, side, new_aux, grads


def _is_cell(x: Any) -> bool:
    return hasattr(x, "set_result")


def _reference_counts(flat: list[Any]) -> list[int]:
    return [sys.getrefcount(flat[i]) for i in range(len(flat))]


def _count_of_one_tuple() -> int:
    held = (object(),)
    return _reference_counts([*held])[0]


#: References to an object that one tuple holds, as ``_reference_counts`` sees them.
_UNSHARED_COUNT = _count_of_one_tuple()


def _copy_shared(flat: list[Any]) -> list[Any]:
    """The arrays, with copies of those that someone else holds too. Each is in one tuple so far."""
    taken = [i for i, count in enumerate(_reference_counts(flat)) if count > _UNSHARED_COUNT]
    if taken:
        with jax.enable_x64(True):
            for i in taken:
                flat[i] = jnp.array(flat[i], copy=True)
    return flat
