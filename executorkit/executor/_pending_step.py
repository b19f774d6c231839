"""An update that ends a run: it becomes a part of the program that computes its gradients.

One forward call: a snapshot of its inputs, and the work that is done when someone looks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import GradientConsumedError, explain
from ..ndarray import NDArray
from ..program._train_step import StepSpec, UpdateFunction, UpdateSpec
from ._buffers import read_buffers

if TYPE_CHECKING:
    from ._executor import Executor


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


class PendingStep:
    """What one call of ``Executor.forward``, and the ``backward`` after it, promised.

    The snapshot is free, since arrays are immutable. A run is itself what its arrays wait for:
    called when one is looked at, it computes the outputs, or, once backward was called, the
    gradients and the auxiliary states that backward changes; where nobody had looked before,
    forward and backward run as one program. An update that follows before anyone looks (``ending``)
    becomes a part of that program.
    """

    __slots__ = (
        "__weakref__", "args", "aux", "done", "ending", "executor", "heads", "key", "old",
        "residuals", "backward_states", "train", "updated", "used_heads",
    )  # fmt: skip

    def __init__(self, executor: Executor, train: bool, key: Any = None) -> None:
        self.executor = executor
        self.train = train
        places = executor._places
        self.args = read_buffers(places.args)
        self.aux = read_buffers(places.aux)
        self.key = executor._next_key() if key is None and executor._draws[train] else key
        self.done = False
        self.residuals: Any = None
        self.backward_states: Sequence[Any] = ()
        #: Head gradients of a backward whose gradients are promised and not computed yet.
        self.heads: Sequence[Any] | None = None
        #: Those of the last backward whose gradients are computed.
        self.used_heads: Sequence[Any] | None = None
        #: Whether ``args`` holds the parameters after an update that was a part of the program.
        self.updated = False
        self.old: tuple[Any, ...] = ()
        self.ending: PendingUpdate | None = None
        for output in places.outputs:
            output.defer(self)

    def __call__(self) -> None:
        """The promise of outputs, gradients and states: computes them, with what else is promised.

        Until backward is called it is outputs that wait; afterwards gradients wait too.
        """
        if self.done or self.heads is not None:
            self.resolve_gradients()
            return
        program = self.executor._program
        if self.train and program.argnums:
            outputs, side, step, residuals = program.forward[1](self.args, self.aux, self.key)
            self.backward_states, self.residuals = step, residuals
        else:
            outputs, side = program.infer[self.train](self.args, self.aux, self.key)
        self.keep(outputs, side)

    def force(self) -> None:
        """Computes whatever is promised and not computed yet."""
        if self.heads is not None:
            self.resolve_gradients()
        if not self.done:
            self()

    def keep(self, outputs: Sequence[Any], forward_states: Sequence[Any]) -> None:
        """Hands the outputs to the arrays that still wait for them."""
        self.done = True
        executor = self.executor
        for slot, value in zip(executor._places.outputs, outputs, strict=True):
            slot.set_result(self, value)
        if forward_states:
            for n, value in zip(
                executor._program.forward_state_indices, forward_states, strict=True
            ):
                executor.aux_arrays[n].assign(value)

    def backward(self, heads: Sequence[Any]) -> None:
        """Promises the gradients for this run's inputs to ``grad_arrays``."""
        executor = self.executor
        program = executor._program
        if not program.argnums:
            return
        if self.heads is not None:
            self.resolve_gradients()
        if True in program.accumulate:
            self.old = self._old_gradients(executor._grad_targets, program.accumulate)
        states = [(executor.aux_arrays[n], self.aux[n]) for n in self._backward_state_indices]
        anew = any(array.value is not value for array, value in states)
        self.heads = heads
        for slot in executor._places.grads:
            slot.defer(self)
        if not anew:
            for array, _ in states:
                array.defer(self)
        if anew or executor._again or executor._eager:
            self.resolve_gradients(anew)

    def targets(self, weights: Sequence[Any], grads: Sequence[Any]) -> tuple[int, ...] | None:
        """Which of this run's gradients (numbers in ``program.wanted``) these are, if an update by
        them can be a part of the program that computes them.

        None if not: if someone has looked since forward, if the weights are not those that forward
        saw, or if a gradient is not promised by this run, or is that of another weight.
        """
        executor = self.executor
        if self.heads is None or self.residuals is not None or not executor._fusable:
            return None
        numbers, argnums = executor._target_numbers, executor._program.argnums
        found = tuple([numbers.get(id(g), -1) for g in grads])
        if -1 in found or len(set(found)) != len(found):
            return None
        for k, weight in zip(found, weights, strict=True):
            if weight is not executor.arg_arrays[argnums[k]]:
                return None
            if weight.value is not self.args[argnums[k]]:
                return None
        # Reading a weight may have resolved this very run.
        return None if self.heads is None else found

    def update(
        self, targets: tuple[int, ...], update: UpdateFunction, state: Any, numbers: Sequence[float],
        key: Any,
    ) -> None:  # fmt: skip
        """Makes an update by gradients that ``targets`` has found a part of this run.

        It runs when someone looks, or at once when all gradients are used.
        """
        executor = self.executor
        if self.ending is None:
            self.ending = PendingUpdate(executor._keep_gradients)
        self.ending.accumulate(self, UpdateSpec(targets, update, len(numbers)), state, numbers, key)
        if self.ending.targets == len(executor._program.argnums):
            self.resolve_gradients()

    @property
    def _backward_state_indices(self) -> tuple[int, ...]:
        return self.executor._program.backward_state_indices if self.train else ()

    def resolve_gradients(self, anew: bool = False) -> None:
        """Computes the gradients, and what else is promised, by one program.

        ``anew``: auxiliary states were written since the snapshot (by an earlier backward, say);
        MXNet starts from their value at the time of backward, so they are updated from that.
        """
        executor = self.executor
        program = executor._program
        heads = self.heads
        if heads is None:
            raise GradientConsumedError(
                explain(
                    "gradient",
                    "it was used up by the update that ran as one program with backward",
                    hint="look at it between backward and update; during fit, a callback of "
                    "your own keeps gradients",
                )
            )
        arrays = executor.aux_arrays
        aux, together = self.aux, anew and self.done and self.residuals is None
        if together:  # nothing but the new states depends on the old ones
            aux = read_buffers(executor._places.aux)
        if self.ending is not None:
            outputs, side, step, grads = self.ending.run(self, heads)
        elif self.residuals is not None:
            outputs, side, step = None, (), self.backward_states
            grads = program.backward(self.residuals, heads, self.old)
        else:
            outputs, side, step, grads = program.forward_backward[self.train](
                self.args, aux, self.key, heads, self.old
            )
        self.heads, self.used_heads = None, heads
        self.updated, self.ending = self.updated or self.ending is not None, None
        if outputs is not None and not self.done:
            self.keep(outputs, side)
        for slot, grad in zip(executor._places.grads, grads, strict=True):
            if grad is not None:
                slot.set_result(self, grad)
        for i in sorted(executor._again):
            target, grad = executor._grad_targets[i], grads[i]
            with jax.enable_x64(True):
                target.assign(target.value + grad if program.accumulate[i] else grad)
        if anew and not together:
            step = program.forward[1](self.args, read_buffers(executor._places.aux), self.key)[2]
        for n, value in zip(self._backward_state_indices, step, strict=True):
            if anew:
                arrays[n].assign(value)
            else:
                arrays[n].set_result(self, value)
        self.old = ()

    def _old_gradients(
        self, targets: Sequence[NDArray], accumulate: Sequence[bool]
    ) -> tuple[Any, ...]:
        """What gradients are added to. An array that is the target of several arguments is read
        once; the others' gradients are added to it one after the other."""
        again = self.executor._again
        if not again:
            return tuple([t.value for t, a in zip(targets, accumulate, strict=True) if a])
        with jax.enable_x64(True):
            return tuple(
                jax.numpy.zeros_like(t.value) if i in again else t.value
                for i, (t, a) in enumerate(zip(targets, accumulate, strict=True))
                if a
            )
