"""One forward call: a snapshot of its inputs, and the work that is deferred until a result is read.

A step is computed by one program where possible: inference, forward alone if outputs are read
first, forward with backward, or forward, backward and updates (:class:`PendingUpdate`). Its states
are the classes below; one assignment is the transition from one to the next::

    Waiting  -- an output is read -->      Computed
    Waiting  -- backward is called -->     Backward
    Computed -- backward is called -->     Backward
    Backward -- its program has ended -->  Storing
    Backward -- its program fails at once, as with Python operators -->  the state before
    Storing  -- everything is stored -->   Computed

A step is atomic: after an exception at any point it is in one of these states, and the next read
does the rest. Each store changes only an array that still waits for the step, so that a step that
is interrupted while it stores can store again. The results of a program that donates are in
``PendingUpdate.results`` from the moment when it ends; an update whose program did not end is
withdrawn, and parameters and states are as before.

One thread at a time changes a step or runs it: ``waitall`` of another thread waits for the lock of
the runnable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from typing import Any, NamedTuple

from .._support.annotations import Arrays, Key, Operands, Raw, Tree
from ..arrays.handle import buffers_of
from ..arrays.protocol import PendingValue, Producer
from ..arrays.storage import defer_all, set_results
from ..calls.rollback import complete
from ..calls.update_call import UpdatableStep, UpdateCall
from ..program import MADE, made
from ._buffers import read_buffers
from ._update import CONSUMED, PendingUpdate
from .runnable import Runnable


class Waiting:
    """The outputs wait for forward; if its program has ``failed``, a read tries again."""

    __slots__ = ("failed",)

    residuals = None
    backward_states: Arrays = ()
    heads = None
    updated = False

    def __init__(self, failed: bool = False) -> None:
        self.failed = failed


class Computed(NamedTuple):
    """Outputs are stored, and gradients if backward was called: nothing waits."""

    #: The values that backward needs, where forward has run by itself.
    residuals: Tree = None
    #: The auxiliary states that backward stores or has stored, where they were computed.
    backward_states: Arrays = ()
    heads: Arrays | None = None
    #: True if ``args`` holds the parameters after an update that was a part of the program.
    updated: bool = False


@dataclass(slots=True, eq=False)
class Backward:
    """Gradients wait, and so do outputs that were not read before backward was called."""

    #: The state in which backward was called.
    before: Waiting | Computed
    heads: Arrays
    #: For each gradient the contents that it is added to (``grad_req='add'``) or None; empty if all
    #: replace the former contents.
    accumulated: Operands
    #: True if auxiliary states have changed since forward, by an earlier backward for instance.
    states_written: bool
    #: The number that losses are multiplied by; None for 1.
    scale: Raw
    #: True if a program has failed, and the error was raised; a read tries again.
    failed: bool
    update: PendingUpdate | None = None


class Storing(NamedTuple):
    """The program of a backward has ended; its results are being stored. ``outputs`` and
    ``forward_states`` are None and empty if stored already; a gradient is None where an update has
    consumed it."""

    backward: Backward
    outputs: Arrays | None
    forward_states: Arrays
    backward_states: Arrays
    grads: Arrays


_WAITING, _COMPUTED = Waiting(), Computed()
#: States in which backward may be called; in the others it has not ended.
_BASES = (Waiting, Computed)


class PendingStep(UpdatableStep):
    """The deferred work of one call of ``Executor.forward``, and of the ``backward`` after it. The
    snapshot ``args, aux, key`` is free, since arrays are immutable; an update in the same program
    replaces its parameters and states. The step is the producer of its arrays: when one is read, it
    computes the outputs or, once backward was called, the gradients and auxiliary states that
    backward changes. If no output was read before, forward and backward run as one program, of
    which an update attached before the first read becomes a part."""

    __slots__ = ("__weakref__", "raw_args", "raw_aux", "raw_key", "runnable", "state", "train")

    copies = False

    def __init__(
        self, runnable: Runnable[Any], train: bool, key: Key = None, inputs: Tree = None
    ) -> None:
        self.runnable = runnable
        self.train = train
        buffers = runnable.buffers
        self.raw_args, self.raw_aux = inputs or map(read_buffers, (buffers.args, buffers.aux))
        self.state: Waiting | Computed | Backward | Storing = _WAITING
        self.raw_key: Any = runnable.next_key() if key is None and runnable.uses_rng[train] else key
        with runnable.lock:
            if not runnable.is_registered:
                runnable.register()
            for output in buffers.outputs:
                output.defer(self)

    def arrays(self) -> tuple[Operands, Operands, Key]:
        """Returns the contents of arguments and auxiliary states, and the key, as arrays."""
        args, aux, key = self.raw_args, self.raw_aux, self.raw_key
        if not MADE.isdisjoint(map(type, (*args, *aux, key))):
            self.raw_args, self.raw_aux, (self.raw_key,) = map(made, (args, aux, [key]))
        return self.raw_args, self.raw_aux, self.raw_key

    args = property(lambda self: self.arrays()[0])
    aux = property(lambda self: self.arrays()[1])
    key = property(lambda self: self.arrays()[2])

    @property
    def _base(self) -> Waiting | Computed:
        state = self.state
        if isinstance(state, Storing):
            state = state.backward
        return state.before if isinstance(state, Backward) else state

    @property
    def has_outputs(self) -> bool:
        return isinstance(self._base, Computed)

    @property
    def heads(self) -> Sequence[Any] | None:
        """The head gradients of the last backward; None before the first."""
        state = self.state
        return state.backward.heads if isinstance(state, Storing) else state.heads

    @property
    def updated(self) -> bool:
        return self._base.updated

    # -- what its arrays ask for ---------------------------------------------------------------

    @property
    def source(self) -> Producer:
        return self

    def __call__(self) -> None:
        """Computes all that is pending: outputs alone until backward is called."""
        with self.runnable.lock:
            state = self.state
            if isinstance(state, Waiting):
                self._compute_outputs()
            elif not isinstance(state, Computed):
                self._compute_gradients()

    def force(self) -> None:
        """Computes all that is pending; nothing once it has failed, since its error was raised."""
        with self.runnable.lock:
            state = self.state
            if isinstance(state, Storing) or not (isinstance(state, Computed) or state.failed):
                self()

    # -- forward -------------------------------------------------------------------------------

    def _compute_outputs(self) -> None:
        runnable, program = self.runnable, self.runnable.program
        call = self.arrays()
        computed = _COMPUTED
        try:
            keeps = self.train and program.argnums
            if keeps and not (runnable.is_new and program.comes_once(*call)):
                *results, residuals = program.forward[1](*call)
                outputs, states, backward_states = results
                residuals = residuals.completed(*call[:2], results)
                computed = Computed(residuals, backward_states)
            elif not self.train:
                outputs, states = runnable.infer(*call)
            else:
                outputs, states = program.infer[True](*call)
        except Exception:
            self.state = Waiting(failed=True)
            raise
        self.store_outputs(outputs, states, computed)

    def store_outputs(
        self,
        outputs: Arrays,
        forward_states: Arrays,
        state: Computed | Backward | Storing = _COMPUTED,
    ) -> None:
        runnable = self.runnable
        set_results(runnable.buffers.outputs, self, outputs)
        if forward_states:
            indices = runnable.program.forward_state_indices
            for n, value in zip(indices, forward_states, strict=True):
                runnable.aux_arrays[n].assign(value)
        self.state = state

    # -- backward ------------------------------------------------------------------------------

    @property
    def backward_state_indices(self) -> tuple[int, ...]:
        return self.runnable.program.backward_state_indices if self.train else ()

    def needs_head_gradients(self) -> tuple[bool, ...]:
        return self.runnable.program.needs_head_gradient(*self.arrays())

    def backward(self, heads: Arrays, scale: Raw = None) -> None:
        """Defers this step's gradients to the runnable's targets, for losses times ``scale``."""
        runnable = self.runnable
        if not runnable.program.argnums:
            return
        if not isinstance(self.state, _BASES):
            self()
        accumulated = runnable.accumulated_gradients() if True in runnable.accumulate else ()
        # An earlier backward, say. MXNet starts from the states' value at the time of backward.
        indices = self.backward_state_indices
        written = self._states_written(indices) if indices else False
        at_once = written or bool(runnable.duplicate_targets) or runnable.runs_eagerly
        with runnable.lock:
            grads = runnable.buffers.grads if at_once else ()
            previous = [b.current if b.pending else b.value for b in grads]
            before = self.state
            assert isinstance(before, _BASES)
            failed = isinstance(before, Waiting) and before.failed
            state = Backward(before, heads, accumulated, written, scale, failed)

            def defer() -> None:
                self.state = state
                runnable = self.runnable
                if not runnable.is_registered:
                    runnable.register()
                defer_all(runnable.buffers.grads, self)
                for n in () if written else indices:
                    runnable.aux_arrays[n].defer(self)

            complete(defer)
            if at_once:
                self._compute_at_once(state, previous)

    def _states_written(self, indices: Sequence[int]) -> bool:
        arrays, values = self.runnable.aux_arrays, self.aux
        return any(arrays[n].value is not values[n] for n in indices)

    def _compute_at_once(self, state: Backward, previous: Sequence[Any]) -> None:
        try:
            self._compute_gradients()
        except Exception:
            self.state = state.before
            for buffer, value in zip(self.runnable.buffers.grads, previous, strict=True):
                if value is not None:
                    buffer.set_result(self, value)
            raise

    def _compute_gradients(self) -> None:
        state = self.state
        if isinstance(state, Backward):
            try:
                self.state = state = self._run(state)
            except Exception:
                if state.update is None or not state.update.results:
                    state.failed = True
                    self._restore(state)
                raise
        assert isinstance(state, Storing)
        backward, outputs, forward_states, backward_states, grads = state
        runnable = self.runnable
        before, update = backward.before, backward.update
        if backward_states:
            self._store_states(backward, backward_states)
        if update is not None:
            update.commit(self)
        if outputs is not None:
            self.store_outputs(outputs, forward_states, state)
        if runnable.keep_gradients or update is None:
            set_results(runnable.buffers.grads, self, grads)
        else:
            for buffer, grad in zip(runnable.buffers.grads, grads, strict=True):
                if grad is not None:
                    buffer.set_result(self, grad)
                elif buffer.pending is self:
                    buffer.defer(CONSUMED)
        self.state = Computed(
            None if runnable.is_used_up else before.residuals,
            backward_states or before.backward_states,
            backward.heads,
            before.updated or update is not None,
        )

    def _run(self, state: Backward) -> Storing:
        runnable = self.runnable
        if state.update is not None and state.before.residuals is not None:
            return self._run_backward_with_update(state, state.update)
        program, before = runnable.program, state.before
        has_outputs = isinstance(before, Computed)
        if state.update is not None:
            states, outputs, forward_states, grads = state.update.run(
                self, state.heads, state.accumulated
            )
            return Storing(state, None if has_outputs else outputs, forward_states, states, grads)
        args, aux, key = self.arrays()
        added = (state.accumulated,) if state.accumulated else ()
        if state.scale is not None:
            added = (state.accumulated, state.scale)
        if before.residuals is not None and state.scale is None:
            outputs, forward_states, states = None, (), before.backward_states
            residuals = before.residuals
            if runnable.is_used_up:  # an update that was withdrawn may have taken weights out
                residuals = residuals.with_arguments(dict(enumerate(args)))
            grads = program.backward(residuals, state.heads, *added)
        else:
            if state.states_written and has_outputs:
                # Nothing but the new states depends on the old ones then.
                aux = made(read_buffers(runnable.buffers.aux))
            outputs, forward_states, states, grads = program.forward_backward[self.train](
                args, aux, key, state.heads, *added
            )
        if state.states_written and aux is self.raw_aux:
            current = made(read_buffers(runnable.buffers.aux))
            states = program.forward[1](args, current, key)[2]
        if runnable.duplicate_targets:
            grads = runnable.final_gradients(grads)
        return Storing(state, None if has_outputs else outputs, forward_states, states, grads)

    def _run_backward_with_update(self, state: Backward, update: PendingUpdate) -> Storing:
        runnable, before = self.runnable, state.before
        assert isinstance(before, Computed)
        if runnable.is_used_up:
            argnums = runnable.program.argnums
            weights = dict.fromkeys([argnums[k] for k in update.targets])
            residuals = before.residuals.with_arguments(weights)
            state.before = before = before._replace(residuals=residuals)
        grads = update.run_backward(self, before.residuals, state.heads, state.accumulated)
        return Storing(state, None, (), before.backward_states, grads)

    def _store_states(self, backward: Backward, backward_states: Arrays) -> None:
        for n, value in zip(self.backward_state_indices, backward_states, strict=True):
            array = self.runnable.aux_arrays[n]
            # After a failure they hold the old contents; the step may have been tried again.
            retried = backward.failed and array.current is self.aux[n]
            if backward.states_written or retried:
                array.assign(value)
            else:
                array.set_result(self, value)

    # -- updates in the same program -------------------------------------------------------------

    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        with self.runnable.lock:
            targets = self._update_targets(weights, grads)
            call = None if targets is None else prepare()
            state = self.state
            if targets is None or call is None:
                return False
            assert isinstance(state, Backward)
            if state.update is None:
                state.update = PendingUpdate(self.runnable.keep_gradients)
            update = state.update
            try:
                update.add(self, targets, call)
                if len(update.targets) == len(self.runnable.program.argnums):
                    self._compute_gradients()
            except BaseException:
                if not update.results:
                    update.withdraw(self, call)
                    if not update.targets:  # the gradients' own program is another one
                        state.update = None
                elif not isinstance(self.state, Computed):
                    self._compute_gradients()
                raise
            return True

    def _update_targets(
        self, weights: Sequence[PendingValue], grads: Sequence[PendingValue]
    ) -> tuple[int, ...] | None:
        """Returns the gradients' positions in ``program.argnums``, if an update by them can be a
        part of the program that computes them; otherwise None."""
        runnable, state = self.runnable, self.state
        if not isinstance(state, Backward) or not runnable.can_fuse_updates:
            return None
        if state.before.residuals is not None and not runnable.updates_by_residuals:
            return None
        indices, argnums = runnable.target_indices, runnable.program.argnums
        arrays = runnable.arg_arrays
        targets = tuple(map(indices.get, map(id, grads), repeat(-1)))
        if -1 in targets or len({*targets}) < len(targets):
            return None
        places = list(map(argnums.__getitem__, targets))
        if not all(map(is_, weights, map(arrays.__getitem__, places))):
            return None
        values = read_buffers(buffers_of(weights))
        is_same = all(map(is_, values, map(self.raw_args.__getitem__, places)))
        # Reading a weight may have made its array.
        if not is_same and not all(map(is_, made(values), map(self.args.__getitem__, places))):
            return None
        # Reading a weight may have computed this very step.
        return targets if self.state is state else None

    def withdraw(self) -> None:
        """Gives up unfinished work; if an update has run in its program, stores everything."""
        with self.runnable.lock:
            state = self.state
            if isinstance(state, Storing):
                self._compute_gradients()
            elif isinstance(state, Backward):
                if state.update is not None and state.update.results:
                    self._compute_gradients()
                else:
                    self._restore(state)
            base = self._base
            if base.updated:
                return
            for n, value in zip(self.backward_state_indices, base.backward_states, strict=False):
                array = self.runnable.aux_arrays[n]
                if array.pending is None and array.value is value:
                    array.assign(self.aux[n])

    def _restore(self, state: Backward) -> None:
        if state.update is not None:
            state.update.withdraw(self)
            state.update = None
        for n in self.backward_state_indices:
            self.runnable.aux_arrays[n].set_result(self, self.aux[n])
