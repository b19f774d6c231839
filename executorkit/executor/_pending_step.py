"""One forward call: a snapshot of its inputs, and the work that is deferred until a result is read.

A step is computed by one program where possible: inference, forward alone if outputs are read
first, forward with backward, or forward, backward and updates (:class:`PendingUpdate`).

A step is atomic. Until all results of a program have been stored, the step keeps what it needs to
compute or to store them again, and each store changes only an array that still waits for the step:
after an exception at any point the next read does what is missing. The results of a program that
donates are kept in ``PendingUpdate.results`` from the moment when it ends; an update whose program
did not end is withdrawn, and parameters and states hold what they held before.

One thread at a time changes a step or runs it: ``waitall`` of another thread waits for the lock of
the runnable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ..errors import GradientConsumedError
from ..ndarray.protocol import PendingValue, Producer
from ..optimizer.update_call import UpdatableStep, UpdateCall
from ..program import MAX_AGE, Donated, StepSpec, UpdateSpec, copy_at, held_elsewhere
from ._buffers import read_buffers
from ._gradient_sums import accumulated_gradients, final_gradients
from .protocol import Runnable


class _Results(NamedTuple):
    """Results of a program with backward that are still to be stored.

    outputs, forward_states
        None and empty where they are stored already.
    backward_states
        empty where an update's ``commit`` stores them.
    grads
        for each gradient target its new contents; None where an update has consumed them.
    """

    outputs: Sequence[Any] | None
    forward_states: Sequence[Any]
    backward_states: Sequence[Any]
    grads: Sequence[Any]


class PendingStep(UpdatableStep):
    """The deferred work of one call of ``Executor.forward``, and of the ``backward`` after it.

    The snapshot is free, since arrays are immutable. The step is itself the producer that its
    arrays wait for: called when one of them is read, it computes the outputs, or, once backward was
    called, the gradients and the auxiliary states that backward changes; where nobody had looked
    before, forward and backward run as one program. An update that is attached before anyone looks
    becomes a part of that program.

    runnable, train
        the arrays and the program that it runs on, and the mode.
    args, aux, key
        the snapshot; after an update in the same program the parameters and states after it.
    done
        whether the outputs are computed.
    failed
        whether a program of it has failed, and its error was raised.
    accumulated
        for each gradient the contents that it is added to (``grad_req='add'``) or None; empty if
        all replace what was there.
    heads
        head gradients of a backward whose gradients are pending; None otherwise.
    residuals
        the values that backward needs, where forward has run by itself.
    used_heads
        head gradients of the last backward whose gradients are computed.
    updated
        whether ``args`` holds the parameters after an update that was a part of the program.
    """

    __slots__ = (
        "__weakref__",
        "_age",
        "_backward_states",
        "_number",
        "_results",
        "_states_written",
        "_update",
        "accumulated",
        "args",
        "aux",
        "done",
        "failed",
        "heads",
        "key",
        "residuals",
        "runnable",
        "train",
        "updated",
        "used_heads",
    )  # fmt: skip

    def __init__(self, runnable: Runnable[Any], train: bool, key: Any = None) -> None:
        self.runnable = runnable
        self.train = train
        self._age = runnable.age
        #: Its number among the training steps since the last update.
        self._number = runnable.steps + 1
        buffers = runnable.buffers
        self.args = read_buffers(buffers.args)
        self.aux = read_buffers(buffers.aux)
        self.done = False
        self.failed = False
        self.heads: Sequence[Any] | None = None
        self.used_heads: Sequence[Any] | None = None
        self.updated = False
        self.residuals: Any = None
        self._backward_states: Sequence[Any] = ()
        self.accumulated: tuple[Any, ...] = ()
        self._states_written = False
        self._results: _Results | None = None
        self._update: PendingUpdate | None = None
        self.key = runnable.next_key() if key is None and runnable.uses_rng[train] else key
        with runnable.lock:
            if not runnable.is_registered:
                runnable.register()
            for output in buffers.outputs:
                output.defer(self)

    # -- what its arrays ask for ---------------------------------------------------------------

    def __call__(self) -> None:
        """Computes the outputs, with everything else that is pending.

        Only outputs wait until backward is called; afterwards gradients wait too.
        """
        with self.runnable.lock:
            if self.heads is not None:
                self._compute_gradients()
            elif not self.done:
                self._compute_outputs()
            elif any(b.pending is self for b in self.runnable.buffers.grads):
                raise GradientConsumedError(
                    "gradient",
                    "it was used up by the update that ran as one program with backward",
                    hint="look at it between backward and update; during fit, a callback of "
                    "your own keeps gradients",
                )

    @property
    def source(self) -> Producer:
        """The step itself: it computes."""
        return self

    @property
    def is_computed(self) -> bool:
        """True if nothing is left to be computed."""
        return self.done and self.heads is None

    def force(self) -> None:
        """Computes everything that is pending and not computed yet; nothing once it has failed,
        since its error was raised then."""
        with self.runnable.lock:
            if self.failed:
                return
            if self.heads is not None:
                self._compute_gradients()
            if not self.done:
                self._compute_outputs()

    def _compute_outputs(self) -> None:
        """Computes the outputs by forward alone."""
        program = self.runnable.program
        try:
            if self.train and program.argnums:
                *results, residuals = program.forward[1].call_at(
                    self._age, self.args, self.aux, self.key
                )
                outputs, states, self._backward_states = results
                self.residuals = residuals.completed(self.args, self.aux, results)
            elif not self.train:
                outputs, states = self.runnable.infer(self.args, self.aux, self.key)
            else:
                outputs, states = program.infer[True](self.args, self.aux, self.key)
        except Exception:
            self.failed = True
            raise
        self.store_outputs(outputs, states)

    def store_outputs(self, outputs: Sequence[Any], forward_states: Sequence[Any]) -> None:
        """Stores the outputs in the arrays that still wait for them."""
        runnable = self.runnable
        for buffer, value in zip(runnable.buffers.outputs, outputs, strict=True):
            buffer.set_result(self, value)
        if forward_states:
            indices = runnable.program.forward_state_indices
            for n, value in zip(indices, forward_states, strict=True):
                runnable.aux_arrays[n].assign(value)
        if self.train and self._age is not None and self._age < MAX_AGE:
            runnable.count_steps(self._number)
        self.done = True

    # -- backward ------------------------------------------------------------------------------

    def needs_head_gradients(self) -> tuple[bool, ...]:
        """For each output, whether ``backward`` needs a head gradient for it."""
        return self.runnable.program.needs_head_gradient(self.args, self.aux, self.key)

    def backward(self, heads: Sequence[Any]) -> None:
        """Defers the gradients for this step's inputs to the runnable's gradient targets."""
        runnable = self.runnable
        if not runnable.program.argnums:
            return
        if self.heads is not None:
            self()
        accumulated = accumulated_gradients(runnable)
        # An earlier backward, say. MXNet starts from the states' value at the time of backward.
        written = False
        for n in self.backward_state_indices:
            if runnable.aux_arrays[n].value is not self.aux[n]:
                written = True
        at_once = written or bool(runnable.duplicate_targets) or runnable.runs_eagerly
        with runnable.lock:
            previous = [b.current for b in runnable.buffers.grads] if at_once else []
            try:
                self.accumulated = accumulated
                self._states_written = written
                self._results = None
                self.heads = heads
                self._defer_gradients()
            except BaseException:
                if self.heads is heads:  # one gradient may wait for it already: so do all
                    self._defer_gradients()
                raise
            if at_once:
                self._compute_at_once(previous)

    def _defer_gradients(self) -> None:
        runnable = self.runnable
        if not runnable.is_registered:
            runnable.register()
        for buffer in runnable.buffers.grads:
            buffer.defer(self)
        if not self._states_written:
            for n in self.backward_state_indices:
                runnable.aux_arrays[n].defer(self)

    def _compute_at_once(self, previous: Sequence[Any]) -> None:
        """Computes the gradients; if that fails, they hold what they held before."""
        try:
            self._compute_gradients()
        except Exception:
            self.heads = None
            for buffer, value in zip(self.runnable.buffers.grads, previous, strict=True):
                if value is not None:
                    buffer.set_result(self, value)
            raise

    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        """Makes an update a part of this step; see :func:`executorkit.optimizer.attach_update`.

        It runs when someone looks, or at once when all gradients are consumed.
        """
        with self.runnable.lock:
            targets = self._update_targets(weights, grads)
            call = None if targets is None else prepare()
            if targets is None or call is None:
                return False
            if self._update is None:
                self._update = PendingUpdate(self.runnable.keep_gradients)
            update = self._update
            try:
                update.add(self, targets, call)
                if update.n_targets == len(self.runnable.program.argnums):
                    self._compute_gradients()
            except BaseException:
                if not update.results:
                    update.withdraw(self, call)
                    if not update.n_targets:  # the gradients' own program is another one
                        self._update = None
                elif self.heads is not None:
                    self._compute_gradients()
                raise
            return True

    def _update_targets(
        self, weights: Sequence[PendingValue], grads: Sequence[PendingValue]
    ) -> tuple[int, ...] | None:
        """Positions of the gradients in ``program.argnums``, if an update by them can be a part of
        the program that computes them.

        None if someone has looked since forward, if the weights are not those that forward saw, or
        if a gradient is not pending on this step, or is that of another weight.
        """
        runnable = self.runnable
        if self.heads is None or self.residuals is not None or not runnable.can_fuse_updates:
            return None
        indices, argnums = runnable.target_indices, runnable.program.argnums
        targets = tuple([indices.get(id(g), -1) for g in grads])
        if -1 in targets or len(set(targets)) != len(targets):
            return None
        for k, weight in zip(targets, weights, strict=True):
            if weight is not runnable.arg_arrays[argnums[k]]:
                return None
            if weight.value is not self.args[argnums[k]]:
                return None
        # Reading a weight may have computed this very step.
        return None if self.heads is None else targets

    def withdraw(self) -> bool:
        """Gives up what has not run: parameters, optimizer states and auxiliary states hold what
        they held before the step. For whoever gives up a whole training step.

        Returns True if an update has run as a part of the step; everything is stored then.
        """
        with self.runnable.lock:
            has_run = self._results is not None or (self._update and self._update.results)
            if self.heads is not None and has_run:
                self._compute_gradients()
            elif self.heads is not None:
                self._restore()
            if not self.updated:
                self.runnable.count_steps(self._number - 1)
                states = zip(self.backward_state_indices, self._backward_states, strict=False)
                for n, value in states:
                    array = self.runnable.aux_arrays[n]
                    if array.pending is None and array.value is value:
                        array.assign(self.aux[n])
            return self.updated

    def _restore(self) -> None:
        """Withdraws the updates, and takes back the auxiliary states that wait for this step."""
        if self._update is not None:
            self._update.withdraw(self)
            self._update = None
        for n in self.backward_state_indices:
            self.runnable.aux_arrays[n].set_result(self, self.aux[n])

    @property
    def backward_state_indices(self) -> tuple[int, ...]:
        """Positions of the auxiliary states that backward changes."""
        return self.runnable.program.backward_state_indices if self.train else ()

    def _compute_gradients(self) -> None:
        """Computes the gradients, and everything else that is pending, by one program.

        Until the end of this method it can be interrupted and called again.
        """
        heads = self.heads
        assert heads is not None
        if self._results is None:
            try:
                self._results = self._run(heads)
            except Exception:
                if self._update is None or not self._update.results:
                    self.failed = True
                    self._restore()
                raise
        results, update = self._results, self._update
        if update is not None:
            update.commit(self)
        if results.outputs is not None:
            self.store_outputs(results.outputs, results.forward_states)
        for buffer, grad in zip(self.runnable.buffers.grads, results.grads, strict=True):
            if grad is not None:  # None: an update has consumed it
                buffer.set_result(self, grad)
        if results.backward_states:
            self.store_states(results.backward_states)
        self.used_heads = heads
        self.updated = self.updated or update is not None
        self._update, self.accumulated = None, ()
        self.heads = None
        self._results = None

    def store_states(self, backward_states: Sequence[Any]) -> None:
        """Stores the auxiliary states that backward has changed."""
        self._backward_states = backward_states
        for n, value in zip(self.backward_state_indices, backward_states, strict=True):
            array = self.runnable.aux_arrays[n]
            # After a failure they hold the old contents; the step may have been tried again.
            retried = self.failed and array.current is self.aux[n]
            if self._states_written or retried:
                array.assign(value)
            else:
                array.set_result(self, value)

    def _run(self, heads: Sequence[Any]) -> _Results:
        """Runs the programs; stores nothing."""
        runnable = self.runnable
        program, aux = runnable.program, self.aux
        if self._update is not None:
            outputs, states, grads = self._update.run(self, heads)
            return _Results(None if self.done else outputs, states, (), grads)
        continues = self.done and self.residuals is not None
        # Nothing but the new states depends on the old ones then.
        from_current = self._states_written and self.done and not continues
        if from_current:
            aux = read_buffers(runnable.buffers.aux)
        added = (self.accumulated,) if self.accumulated else ()
        if continues:
            outputs, states, backward_states = None, (), self._backward_states
            grads = program.backward.call_at(self._age, self.residuals, heads, *added)
        else:
            outputs, states, backward_states, grads = program.forward_backward[self.train].call_at(
                self._age, self.args, aux, self.key, heads, *added
            )
        if self._states_written and not from_current:
            current = read_buffers(runnable.buffers.aux)
            backward_states = program.forward[1].call_at(self._age, self.args, current, self.key)[2]
        if runnable.duplicate_targets:
            grads = final_gradients(runnable, grads)
        return _Results(None if self.done else outputs, states, backward_states, grads)


class _AttachedUpdate(NamedTuple):
    """An update that is to be a part of a step.

    spec, call
        the update, and the call of the optimizer that it came from.
    cells
        the weights, then the leaves of its state: pending values.
    state
        the contents of its state.
    """

    spec: UpdateSpec
    call: UpdateCall
    cells: list[PendingValue]
    state: Any


class PendingUpdate:
    """Updates that wait for the gradients of a pending step.

    Each is an :class:`UpdateSpec` with its state: a pytree of pending values which, like the
    weights, wait for the step. ``run`` computes, ``commit`` stores; until ``run`` has computed,
    ``withdraw`` takes updates back.

    results
        the program's results: empty until it has ended, then one tuple. C code puts it there, so
        that no exception comes between the end of the program, which destroys the old weights and
        states, and this list.
    """

    __slots__ = ("_donated", "_keep_gradients", "_updates", "results")

    def __init__(self, keep_gradients: bool) -> None:
        self._keep_gradients = keep_gradients
        self._updates: list[_AttachedUpdate] = []
        self._donated: Donated | None = None
        self.results: list[Any] = []

    @property
    def n_targets(self) -> int:
        """The number of gradients that are consumed."""
        return sum(len(update.spec.targets) for update in self._updates)

    def add(self, step: PendingStep, targets: tuple[int, ...], call: UpdateCall) -> None:
        """Adds an update of weights whose contents are those of the step's snapshot."""
        self._restore_donated(step)
        runnable = step.runnable
        cells, tree = jax.tree.flatten(call.state)
        state = jax.tree.unflatten(tree, read_buffers(cells))
        weights = [runnable.arg_arrays[runnable.program.argnums[k]] for k in targets]
        cells = [*weights, *cells]
        spec = UpdateSpec(targets, call.update, len(call.hyperparams))
        self._updates.append(_AttachedUpdate(spec, call, cells, state))
        call.attached = True
        for cell in cells:
            cell.defer(step)

    def withdraw(self, step: PendingStep, call: UpdateCall | None = None) -> None:
        """Takes back one update, or all: weights and states hold what they held before."""
        self._restore_donated(step)
        for update in reversed(self._updates.copy()):
            if call is not None and update.call is not call:
                continue
            argnums = step.runnable.program.argnums
            weights = [step.args[argnums[k]] for k in update.spec.targets]
            values = (*weights, *jax.tree.leaves(update.state))
            for cell, value in zip(update.cells, values, strict=True):
                cell.set_result(step, value)
            self._updates.remove(update)
            update.call.attached = False
            update.call.undo()

    def run(self, step: PendingStep, heads: Sequence[Any]) -> tuple[Any, ...]:
        """Runs forward, backward and the updates, unless that was done; returns the outputs, the
        states that forward changes, and the gradients.

        Weights, optimizer states and auxiliary states are donated. Arrays that someone else still
        holds (the user's ``.jax``, another executor's snapshot) are copied first.
        """
        if not self.results:
            self._restore_donated(step)
            args, aux, donated = self._operands(step)
            spec = StepSpec(tuple([u.spec for u in self._updates]), self._keep_gradients)
            function = step.runnable.program.step_function(step.train, spec)
            self._donated = donated
            hyperparams = [x for u in self._updates for x in u.call.hyperparams]
            others = (
                args, aux, step.key, heads, step.accumulated,
                tuple([u.call.key_data for u in self._updates]), np.array(hyperparams, np.float64),
            )  # fmt: skip
            function.call_into(self.results, donated, others, self._age(step))
        return self.results[0][1:]

    def _age(self, step: PendingStep) -> int | None:
        """The number of updates that the optimizers have counted before; None if the program is to
        be compiled at once."""
        ages = [u.call.age for u in self._updates]
        counted = [age for age in ages if age is not None]
        known = len(counted) == len(ages) and step.runnable.age is not None
        return max(counted) if known else None

    def _operands(self, step: PendingStep) -> tuple[tuple[Any, ...], tuple[Any, ...], Donated]:
        """The step's arguments and auxiliary states without those that are donated, and these."""
        argnums = step.runnable.program.argnums
        args: list[Any] = list(step.args)
        aux: list[Any] = list(step.aux)
        weights = tuple(tuple(args[argnums[k]] for k in u.spec.targets) for u in self._updates)
        states = tuple(aux[n] for n in step.backward_state_indices)
        leaves, tree = jax.tree.flatten((weights, tuple([u.state for u in self._updates]), states))
        for update in self._updates:
            for k in update.spec.targets:
                args[argnums[k]] = None
        for n in step.backward_state_indices:
            aux[n] = None
        del weights, states
        copy_at(leaves, held_elsewhere(leaves))
        return tuple(args), tuple(aux), Donated(jax.tree.unflatten(tree, leaves))

    def _restore_donated(self, step: PendingStep) -> None:
        """Lets the snapshot hold copies of arrays that a failed program has destroyed."""
        if self._donated is None:
            return
        weights, states, aux_states = self._donated.restored()
        updates = zip(self._updates, states, strict=True)
        self._updates = [update._replace(state=state) for update, state in updates]
        self._take(step, weights, aux_states)
        self._donated = None

    def commit(self, step: PendingStep) -> None:
        """Stores the weights, the optimizer states and the auxiliary states that the program
        returned in place of the donated ones.

        The step's snapshot holds them from now on: the old ones do not exist any more.
        """
        new_weights, new_states, new_aux = self.results[0][0]
        for update, weights, state in zip(self._updates, new_weights, new_states, strict=True):
            for cell, value in zip(update.cells, (*weights, *state), strict=True):
                cell.set_result(step, value)
        step.store_states(new_aux)
        self._take(step, new_weights, new_aux)

    def _take(self, step: PendingStep, weights: Sequence[Any], aux_states: Sequence[Any]) -> None:
        """Lets the step's snapshot hold these weights and auxiliary states."""
        args: list[Any] = list(step.args)
        aux: list[Any] = list(step.aux)
        argnums = step.runnable.program.argnums
        for update, values in zip(self._updates, weights, strict=True):
            for k, value in zip(update.spec.targets, values, strict=True):
                args[argnums[k]] = value
        for n, value in zip(step.backward_state_indices, aux_states, strict=True):
            aux[n] = value
        step.args, step.aux = tuple(args), tuple(aux)
