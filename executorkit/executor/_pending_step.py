"""One forward call: a snapshot of its inputs, and the work that is deferred until a result is read.

A step is computed by one program where possible: inference, forward alone if outputs are read
first, forward with backward, or forward, backward and updates (:class:`PendingUpdate`).

If a program fails, none of its results has been stored; the next read runs the step again. Arrays
that a program donates have replacements only among its results. One loop stores these,
``PendingUpdate.commit``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import GradientConsumedError, explain
from ..ndarray.protocol import PendingValue, Producer, UpdateCall
from ..program import StepSpec, UpdateSpec
from ._buffers import read_buffers
from .protocol import Runnable


class PendingStep:
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
    accumulated
        gradients that those of this step are added to (``grad_req='add'``).
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
        "_backward_states",
        "_update",
        "accumulated",
        "args",
        "aux",
        "done",
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
        buffers = runnable.buffers
        self.args = read_buffers(buffers.args)
        self.aux = read_buffers(buffers.aux)
        self.key = runnable.next_key() if key is None and runnable.uses_rng[train] else key
        self.done = False
        self.heads: Sequence[Any] | None = None
        self.used_heads: Sequence[Any] | None = None
        self.updated = False
        self.residuals: Any = None
        self._backward_states: Sequence[Any] = ()
        self.accumulated: tuple[Any, ...] = ()
        self._update: PendingUpdate | None = None
        for output in buffers.outputs:
            output.defer(self)

    # -- what its arrays ask for ---------------------------------------------------------------

    def __call__(self) -> None:
        """Computes the outputs, with everything else that is pending.

        Only outputs wait until backward is called; afterwards gradients wait too.
        """
        if self.done or self.heads is not None:
            self._compute_gradients()
            return
        program = self.runnable.program
        if self.train and program.argnums:
            outputs, states, backward_states, residuals = program.forward[1](
                self.args, self.aux, self.key
            )
            self._backward_states, self.residuals = backward_states, residuals
        else:
            outputs, states = program.infer[self.train](self.args, self.aux, self.key)
        self.store_outputs(outputs, states)

    @property
    def source(self) -> Producer:
        """The step itself: it computes."""
        return self

    @property
    def is_computed(self) -> bool:
        """True if nothing is left to be computed."""
        return self.done and self.heads is None

    def force(self) -> None:
        """Computes everything that is pending and not computed yet."""
        if self.heads is not None:
            self._compute_gradients()
        if not self.done:
            self()

    def store_outputs(self, outputs: Sequence[Any], forward_states: Sequence[Any]) -> None:
        """Stores the outputs in the arrays that still wait for them."""
        self.done = True
        runnable = self.runnable
        for buffer, value in zip(runnable.buffers.outputs, outputs, strict=True):
            buffer.set_result(self, value)
        if forward_states:
            indices = runnable.program.forward_state_indices
            for n, value in zip(indices, forward_states, strict=True):
                runnable.aux_arrays[n].assign(value)

    # -- backward ------------------------------------------------------------------------------

    def needs_head_gradients(self) -> tuple[bool, ...]:
        """For each output, whether ``backward`` needs a head gradient for it."""
        return self.runnable.program.needs_head_gradient(self.args, self.aux, self.key)

    def backward(self, heads: Sequence[Any]) -> None:
        """Defers the gradients for this step's inputs to the runnable's gradient targets."""
        runnable = self.runnable
        program = runnable.program
        if not program.argnums:
            return
        if self.heads is not None:
            self._compute_gradients()
        if True in program.accumulate:
            self.accumulated = self._accumulated_gradients()
        states = [(runnable.aux_arrays[n], self.aux[n]) for n in self.backward_state_indices]
        written = any(array.value is not value for array, value in states)
        self.heads = heads
        for buffer in runnable.buffers.grads:
            buffer.defer(self)
        if not written:
            for array, _ in states:
                array.defer(self)
        if written or runnable.duplicate_targets or runnable.runs_eagerly:
            self._compute_gradients(written)

    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        """Makes an update a part of this step; see :func:`executorkit.optimizer.attach_update`.

        It runs when someone looks, or at once when all gradients are consumed.
        """
        targets = self._update_targets(weights, grads)
        call = None if targets is None else prepare()
        if targets is None or call is None:
            return False
        if self._update is None:
            self._update = PendingUpdate(self.runnable.keep_gradients)
        self._update.add(self, targets, call)
        if self._update.n_targets == len(self.runnable.program.argnums):
            self._compute_gradients()
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

    @property
    def backward_state_indices(self) -> tuple[int, ...]:
        """Positions of the auxiliary states that backward changes."""
        return self.runnable.program.backward_state_indices if self.train else ()

    def _compute_gradients(self, states_written: bool = False) -> None:
        """Computes the gradients, and everything else that is pending, by one program.

        ``states_written``: auxiliary states were written since the snapshot (by an earlier
        backward, say); MXNet starts from their value at the time of backward, so they are updated
        from that.
        """
        runnable, heads = self.runnable, self.heads
        program = runnable.program
        if heads is None:
            raise GradientConsumedError(
                explain(
                    "gradient",
                    "it was used up by the update that ran as one program with backward",
                    hint="look at it between backward and update; during fit, a callback of "
                    "your own keeps gradients",
                )
            )
        aux = self.aux
        # Nothing but the new states depends on the old ones then.
        from_current = states_written and self.done and self.residuals is None
        if from_current:
            aux = read_buffers(runnable.buffers.aux)
        backward_states: Sequence[Any] = ()
        if self._update is not None:
            outputs, states, grads = self._update.run(self, heads)
        elif self.residuals is not None:
            outputs, states, backward_states = None, (), self._backward_states
            grads = program.backward(self.residuals, heads, self.accumulated)
        else:
            outputs, states, backward_states, grads = program.forward_backward[self.train](
                self.args, aux, self.key, heads, self.accumulated
            )
        self.heads, self.used_heads = None, heads
        self.updated, self._update = self.updated or self._update is not None, None
        if outputs is not None and not self.done:
            self.store_outputs(outputs, states)
        for buffer, grad in zip(runnable.buffers.grads, grads, strict=True):
            if grad is not None:  # None: an update has consumed it
                buffer.set_result(self, grad)
        if runnable.duplicate_targets:
            self._store_duplicates(grads)
        if states_written and not from_current:
            current = read_buffers(runnable.buffers.aux)
            backward_states = program.forward[1](self.args, current, self.key)[2]
        if backward_states:
            self._store_states(backward_states, states_written)
        self.accumulated = ()

    def _store_states(self, backward_states: Sequence[Any], states_written: bool) -> None:
        """Stores the auxiliary states that backward has changed."""
        aux_arrays = self.runnable.aux_arrays
        for n, value in zip(self.backward_state_indices, backward_states, strict=True):
            if states_written:
                aux_arrays[n].assign(value)
            else:
                aux_arrays[n].set_result(self, value)

    def _store_duplicates(self, grads: Sequence[Any]) -> None:
        """Stores the gradients of an array that is the target of several arguments, one after the
        other, behind the first."""
        runnable = self.runnable
        for i in sorted(runnable.duplicate_targets):
            target, grad = runnable.gradient_targets[i], grads[i]
            with jax.enable_x64(True):
                target.assign(target.value + grad if runnable.program.accumulate[i] else grad)

    def _accumulated_gradients(self) -> tuple[Any, ...]:
        """The gradients that new ones are added to. An array that is the target of several
        arguments is read once; the other gradients are added to it one after the other."""
        runnable = self.runnable
        duplicates, accumulate = runnable.duplicate_targets, runnable.program.accumulate
        targets = zip(runnable.gradient_targets, accumulate, strict=True)
        if not duplicates:
            return tuple([t.value for t, add in targets if add])
        with jax.enable_x64(True):
            return tuple(
                jnp.zeros_like(t.value) if i in duplicates else t.value
                for i, (t, add) in enumerate(targets)
                if add
            )


class PendingUpdate:
    """Updates that wait for the gradients of a pending step.

    Each is an :class:`UpdateSpec` with its state: a pytree of pending values which, like the
    weights, wait for the step. ``run`` computes, ``commit`` stores: everything that the program
    replaces is stored by that one loop, after the program has returned all of it.
    """

    __slots__ = ("_hyperparams", "_keep_gradients", "_key_data", "_specs", "_states", "_targets")

    def __init__(self, keep_gradients: bool) -> None:
        self._keep_gradients = keep_gradients
        self._specs: tuple[UpdateSpec, ...] = ()
        #: For each update the weights, then the leaves of its state.
        self._targets: tuple[list[PendingValue], ...] = ()
        #: The same contents as arrays. A tuple that is passed on as it is: a copy would count as a
        #: further reference to a state, which could not be donated then.
        self._states: tuple[Any, ...] = ()
        self._hyperparams: tuple[float, ...] = ()
        self._key_data: tuple[Any, ...] = ()

    @property
    def n_targets(self) -> int:
        """The number of gradients that are consumed."""
        return sum(len(spec.targets) for spec in self._specs)

    def add(self, step: PendingStep, targets: tuple[int, ...], call: UpdateCall) -> None:
        """Adds an update of weights whose contents are those of the step's snapshot."""
        runnable = step.runnable
        cells, tree = jax.tree.flatten(call.state)
        values = read_buffers(cells)
        weights = [runnable.arg_arrays[runnable.program.argnums[k]] for k in targets]
        self._specs += (UpdateSpec(targets, call.update, len(call.hyperparams)),)
        self._targets += ([*weights, *cells],)
        self._states += (jax.tree.unflatten(tree, values),)
        self._hyperparams += tuple(call.hyperparams)
        self._key_data += (call.key_data,)
        for cell in (*weights, *cells):
            cell.defer(step)

    def run(self, step: PendingStep, heads: Sequence[Any]) -> tuple[Any, ...]:
        """Runs forward, backward and the updates; returns the outputs, the states that forward
        changes, and the gradients.

        Weights, optimizer states and auxiliary states are donated. Arrays that someone else still
        holds (the user's ``.jax``, another executor's snapshot) are copied first.
        """
        argnums = step.runnable.program.argnums
        args: list[Any] = list(step.args)
        aux: list[Any] = list(step.aux)
        weights = tuple(tuple(args[argnums[k]] for k in s.targets) for s in self._specs)
        states = tuple(aux[n] for n in step.backward_state_indices)
        leaves, tree = jax.tree.flatten((weights, self._states, states))
        for spec in self._specs:
            for k in spec.targets:
                args[argnums[k]] = None
        for n in step.backward_state_indices:
            aux[n] = None
        del weights, states
        leaves = _copy_shared(leaves)
        spec = StepSpec(self._specs, self._keep_gradients)
        function = step.runnable.program.step_function(step.train, spec)
        new, outputs, forward_states, grads = function(
            jax.tree.unflatten(tree, leaves), tuple(args), tuple(aux), step.key, heads,
            step.accumulated, self._key_data, np.array(self._hyperparams, np.float64),
        )  # fmt: skip
        self.commit(step, args, aux, new)
        return outputs, forward_states, grads

    def commit(self, step: PendingStep, args: list[Any], aux: list[Any], new: Any) -> None:
        """Stores the weights, the optimizer states and the auxiliary states that the program
        returned in place of the donated ones.

        The step's snapshot holds them from now on: the old ones do not exist any more.
        """
        runnable, (new_weights, new_states, new_aux) = step.runnable, new
        for spec, targets, weights, state in zip(
            self._specs, self._targets, new_weights, new_states, strict=True
        ):
            for target, value in zip(targets, (*weights, *jax.tree.leaves(state)), strict=True):
                target.set_result(step, value)
            for k, value in zip(spec.targets, weights, strict=True):
                args[runnable.program.argnums[k]] = value
        for n, value in zip(step.backward_state_indices, new_aux, strict=True):
            runnable.aux_arrays[n].set_result(step, value)
            aux[n] = value
        step.args, step.aux = tuple(args), tuple(aux)


def _reference_counts(leaves: list[Any]) -> list[int]:
    return [sys.getrefcount(leaves[i]) for i in range(len(leaves))]


def _count_of_one_tuple() -> int:
    held = (object(),)
    return _reference_counts([*held])[0]


#: Reference count of an object that one tuple holds, as ``_reference_counts`` sees it.
_UNSHARED_COUNT = _count_of_one_tuple()


def _copy_shared(leaves: list[Any]) -> list[Any]:
    """The arrays, with copies of those that someone else holds too. Each is in one tuple so far."""
    shared = [i for i, n in enumerate(_reference_counts(leaves)) if n > _UNSHARED_COUNT]
    if shared:
        with jax.enable_x64(True):
            for i in shared:
                leaves[i] = jnp.array(leaves[i], copy=True)
    return leaves
