"""Runs: a plan with its arrays, on which a pending step works as on an executor."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..context import Context
from ..executor import Buffers, Computed, PendingStep, Runnable, read_buffers
from ..ndarray import NDArray
from ..ndarray.handle import buffer_of
from ..ndarray.random_state import next_key, wrap_key
from ..ndarray.recording import Variable
from ..ndarray.storage import Storage
from ..ndarray.values import filled, to_device
from ..program import Training
from ._piece import LeafEntry, RecordedValue
from ._trace_plan import TracePlan


class Run(Runnable[Any]):
    """The arrays of one run of a plan.

    plan, step
        the plan, and the pending step that computes.
    """

    def __init__(
        self,
        plan: TracePlan,
        context: Context,
        *,
        values: tuple[tuple[Any, ...], ...],
        arrays: tuple[Sequence[Any], ...],
        outputs: Sequence[Storage],
        targets: Sequence[NDArray],
        draws: Sequence[np.ndarray],
        lock: threading.RLock,
        training: Training,
        accumulates: bool = True,
    ) -> None:
        """Binds a plan to ``values``, the contents of arguments and of auxiliary states; ``arrays``
        are those that hold them, ``outputs`` and ``targets`` those that results are written to.

        ``accumulates`` says whether gradients are added where variables ask for that.

        Made at every step, so that what follows from the plan alone is in the plan.
        """
        program = plan.program
        self.plan = plan
        self.context = context
        self.program = program
        self.graph = program.graph
        self.output_names = ()
        self.arg_arrays, self.aux_arrays = list(arrays[0]), list(arrays[1])
        self.outputs = list(outputs)
        self.gradient_targets = list(targets)
        self.accumulate = plan.accumulate if accumulates else (False,) * len(targets)
        self.duplicate_targets = frozenset()
        self.target_indices = {id(t): k for k, t in enumerate(targets)}
        self.uses_rng = (bool(plan.key_rows),) * 2
        self.runs_eagerly = False
        self.keep_gradients = True
        self.training = training
        self.is_registered = False
        self.lock = lock
        states = tuple([buffer_of(a) for a in self.aux_arrays])
        grads = tuple([buffer_of(t) for t in targets])
        self.buffers = Buffers((), states, grads, tuple(outputs))
        self._constants = {}
        self._age = training.age
        self.step = PendingStep(self, True, self._key(draws), values)

    def _key(self, draws: Sequence[np.ndarray]) -> Any:
        """The rows of key data for the program's random operators, in its order."""
        rows = self.plan.key_rows
        if not rows:
            return None
        nothing = np.zeros(2, np.uint32)
        data = [nothing if i is None else draws[i] for i in rows]
        return to_device(np.stack(data), self.context.device)

    def next_key(self) -> Any:
        return next_key(self.context)

    def key_aval(self) -> Any:
        return jax.eval_shape(lambda: wrap_key(np.zeros(2, np.uint32)))

    def filled_like(self, array: Any, number: float) -> jax.Array:
        return filled(number, array.shape, array.dtype, self.context.device)

    def vjp(self, heads: Mapping[int, Any]) -> tuple[Sequence[Any], list[tuple[NDArray, Any]]]:
        """The gradients of ``plan.leaves`` for head gradients by number, and the auxiliary states
        with their new contents. Nothing is stored but the outputs."""
        step, program = self.step, self.program
        with self.lock:
            step.force()
            state = step.state
            assert isinstance(state, Computed)
            if state.residuals is None:
                return (), []
            cotangents = [heads.get(n) for n in self.plan.outputs]
            grads = program.backward.call_at(self._age, state.residuals, cotangents)
            states, indices = state.backward_states, step.backward_state_indices
            current = read_buffers(self.buffers.aux)
            if any(current[n] is not step.aux[n] for n in indices):
                states = program.forward[1].call_at(self._age, step.args, current, step.key)[2]
            changed = [self.aux_arrays[n] for n in indices]
            return grads, list(zip(changed, states, strict=True))

    def recorded_inputs(self, entries: Sequence[LeafEntry]) -> list[NDArray]:
        """The arguments, auxiliary states and key data as arrays that belong to the graph as the
        leaves do; ``entries`` are those of the piece's leaves."""
        step, inputs = self.step, []
        with self.lock:
            step.force()
        for source, array, value in zip(self.plan.sources, self.arg_arrays, step.args, strict=True):
            entry = entries[source] if source >= 0 else None
            if (
                isinstance(entry, Variable)
                and array.graph_entry is entry
                and array.current is value
            ):
                inputs.append(array)
                continue
            copy = NDArray.from_jax(value, self.context)
            if isinstance(entry, RecordedValue):
                copy = NDArray.from_storage(entry.storage, 0, entry.storage.shape, self.context)
            copy.graph_entry = entry
            inputs.append(copy)
        others = [*step.aux, *([] if step.key is None else [step.key])]
        return inputs + [NDArray.from_jax(value, self.context) for value in others]
