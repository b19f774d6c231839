"""Updates that are a part of a pending step: attached, run with it, stored, or withdrawn."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from .._support.annotations import Arrays, Key, Operands, Raw, Tree
from ..arrays.handle import buffers_of
from ..arrays.protocol import PendingValue, Producer
from ..arrays.storage import defer_all, set_results
from ..calls.update_call import UpdateCall
from ..errors import GradientConsumedError
from ..program import Donated, StepSpec, UpdateSpec, can_stay, copy_at, held_elsewhere, made
from ._buffers import read_buffers
from .runnable import Runnable


class Snapshot(Producer, Protocol):
    """The part of a pending step that its updates change: the snapshot of its inputs."""

    runnable: Runnable[Any]
    train: bool
    raw_args: Operands
    raw_aux: Operands
    raw_key: Any

    def arrays(self) -> tuple[Operands, Operands, Key]: ...

    @property
    def backward_state_indices(self) -> tuple[int, ...]: ...


class ConsumedGradient:
    """The producer of a gradient that an update has used up in its program: reading is an error."""

    __slots__ = ("__weakref__",)

    copies = False

    @property
    def source(self) -> Producer:
        return self

    def __call__(self) -> None:
        raise GradientConsumedError(
            "gradient",
            "it was used up by the update that ran as one program with backward",
            hint="look at it between backward and update; during fit, a callback of "
            "your own keeps gradients",
        )

    def force(self) -> None: ...


CONSUMED = ConsumedGradient()


class _AttachedUpdate(NamedTuple):
    spec: UpdateSpec
    call: UpdateCall
    cells: list[PendingValue]
    state: Operands
    tree: Any


class PendingUpdate:
    """Updates that wait for the gradients of a pending step. Each is an :class:`UpdateSpec` with
    its state: a pytree of pending values which, like the weights, wait for the step. ``run``
    computes, ``commit`` stores; until ``run`` has computed, ``withdraw`` takes updates back.
    ``results`` is empty until the program has ended, then has one tuple: C code puts it there, so
    that no exception comes between the end of the program, which destroys the old weights and
    states, and this list."""

    __slots__ = ("_donated", "_donates_weights", "_keep_gradients", "_updates", "results")

    def __init__(self, keep_gradients: bool) -> None:
        self._donates_weights = True
        self._keep_gradients = keep_gradients
        self._updates: list[_AttachedUpdate] = []
        self._donated: Any = None
        self.results: list[Raw] = []

    @property
    def targets(self) -> list[int]:
        return [k for update in self._updates for k in update.spec.targets]

    def add(self, step: Snapshot, targets: tuple[int, ...], call: UpdateCall) -> None:
        self._restore_donated(step)
        runnable = step.runnable
        cells, tree = jax.tree.flatten(call.state)
        arrays, argnums = runnable.arg_arrays, runnable.program.argnums
        weights = [arrays[argnums[k]] for k in targets]
        update = runnable.update_for(call.update, weights, cells)
        cells = buffers_of(cells)
        state = read_buffers(cells)
        cells = [*buffers_of(weights), *cells]
        spec = UpdateSpec(targets, update, len(call.hyperparams))
        self._updates.append(_AttachedUpdate(spec, call, cells, state, tree))
        call.attached = True
        defer_all(cells, step)

    def withdraw(self, step: Snapshot, call: UpdateCall | None = None) -> None:
        """Takes back one update, or all: weights and states are as before."""
        self._restore_donated(step)
        for update in reversed(self._updates.copy()):
            if call is not None and update.call is not call:
                continue
            weights = [step.raw_args[step.runnable.program.argnums[k]] for k in update.spec.targets]
            set_results(update.cells, step, (*weights, *update.state))
            self._updates.remove(update)
            update.call.attached = False
            update.call.undo()

    def run(self, step: Snapshot, heads: Arrays, accumulated: Operands) -> Tree:
        """Runs forward, backward and the updates, unless done; returns the states that backward
        changes, the outputs, the states that forward changes, and the gradients. Weights and all
        states are donated; arrays still held elsewhere (the user's ``.jax``) are copied first."""
        if not self.results:
            self._restore_donated(step)
            specs = tuple([u.spec for u in self._updates])
            runnable = step.runnable
            spec = StepSpec(
                specs, self._keep_gradients, runnable.sums_gradients, runnable.joins_processes
            )
            function = runnable.program.step_function(step.train, spec)
            on_host = function.may_interpret and can_stay((*step.raw_args, *step.raw_aux))
            while not self.results:
                self._donated = None
                contents, self._donated = self._operands(step, on_host)
                others = (*contents, heads, accumulated, *self._numbers())
                function.call_into(self.results, self._donated, others)
                on_host = False
            if runnable.joins_processes:
                runnable.note_step(self.results[0], [u.call.undo for u in reversed(self._updates)])
        (_, _, states), outputs, forward_states, grads = self.results[0][:4]
        if self._donated.on_host:
            states, forward_states = made(states), made(forward_states)
        return states, outputs, forward_states, grads

    def run_backward(
        self, step: Snapshot, residuals: Tree, heads: Arrays, accumulated: Operands
    ) -> Sequence[Any]:
        """Runs backward and the updates, unless done; returns the gradients. Optimizer states are
        donated. Weights are, unless there is another backward, or one is held elsewhere: then they
        are not a part of ``residuals``."""
        if not self.results:
            self._restore_donated(step)
            args, argnums = step.arrays()[0], step.runnable.program.argnums
            weights = [[args[argnums[k]] for k in u.spec.targets] for u in self._updates]
            self._updates = [u._replace(state=made(u.state)) for u in self._updates]
            states = [jax.tree.unflatten(u.tree, u.state) for u in self._updates]
            leaves, tree = jax.tree.flatten((weights, states))
            del args, weights, states
            n_weights, held = len(self.targets), held_elsewhere(leaves)
            copy_at(leaves, [i for i in held if i >= n_weights])
            self._donates_weights = (
                step.runnable.is_used_up and min(held, default=n_weights) >= n_weights
            )
            weights, states = jax.tree.unflatten(tree, leaves)
            kept = () if self._donates_weights else weights
            spec = StepSpec(tuple([u.spec for u in self._updates]), self._keep_gradients)
            function = step.runnable.program.backward_step_function(spec)
            self._donated = donated = Donated((() if kept else weights, states, ()))
            del leaves, weights, states
            others = (kept, residuals, heads, accumulated, *self._numbers())
            function.call_into(self.results, donated, others)
        return self.results[0][1]

    def _numbers(self) -> tuple[Tree, Tree]:
        hyperparams = list(chain.from_iterable([u.call.hyperparams for u in self._updates]))
        key_data = tuple([u.call.key_data for u in self._updates])
        return key_data, np.array(hyperparams, np.float64)

    def _operands(self, step: Snapshot, on_host: bool) -> tuple[Operands, Donated]:
        """Returns the contents without the donated ones, and these; arrays unless ``on_host``."""
        argnums = step.runnable.program.argnums
        if not on_host:
            step.arrays()
            self._updates = [u._replace(state=made(u.state)) for u in self._updates]
        args, aux = list(step.raw_args), list(step.raw_aux)
        weights, states, aux_states = [], [], []
        for update in self._updates:
            weights.append(tuple([args[argnums[k]] for k in update.spec.targets]))
            states.append(jax.tree.unflatten(update.tree, update.state))
            for k in update.spec.targets:
                args[argnums[k]] = None
        for n in step.backward_state_indices:
            aux_states.append(aux[n])
            aux[n] = None
        parts = tuple(weights), tuple(states), tuple(aux_states)
        leaves, tree = jax.tree.flatten(parts)
        del weights, states, aux_states, parts
        copy_at(leaves, () if on_host else held_elsewhere(leaves))
        contents = tuple(args), tuple(aux), step.raw_key
        return contents, Donated(jax.tree.unflatten(tree, leaves), on_host)

    def _restore_donated(self, step: Snapshot) -> None:
        if self._donated is None:
            return
        weights, states, aux_states = self._donated.restored()
        updates = zip(self._updates, states, strict=True)
        self._updates = [u._replace(state=(*jax.tree.leaves(state),)) for u, state in updates]
        self._take(step, weights, aux_states)
        self._donated = None

    def commit(self, step: Snapshot) -> None:
        """Stores new weights and states, also in the snapshot: the donated ones are gone."""
        new_weights, new_states, new_aux = self.results[0][0]
        for update, weights, state in zip(self._updates, new_weights, new_states, strict=True):
            set_results(update.cells, step, (*weights, *state))
        new_aux = made(new_aux) if self._donated.on_host else new_aux
        self._take(step, new_weights if self._donates_weights else (), new_aux)

    def _take(self, step: Snapshot, weights: Arrays, aux_states: Sequence[Any]) -> None:
        args: list[Raw] = list(step.raw_args)
        aux: list[Raw] = list(step.raw_aux)
        argnums = step.runnable.program.argnums
        for update, values in zip(self._updates, weights, strict=False):
            for k, value in zip(update.spec.targets, values, strict=True):
                args[argnums[k]] = value
        for n, value in zip(step.backward_state_indices, aux_states, strict=False):
            aux[n] = value
        step.raw_args, step.raw_aux = tuple(args), tuple(aux)
