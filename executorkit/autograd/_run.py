"""Runs: a plan with its arrays, on which a pending step works as on an executor."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .._support.annotations import NumberedArrays, Operands, Raw
from ..arrays.handle import buffers_of
from ..arrays.protocol import Producer
from ..arrays.random_state import next_key
from ..arrays.storage import Storage
from ..calls.recording import Variable
from ..context import Context
from ..errors import MXNetError
from ..executor import Backward, Buffers, Computed, PendingStep, Runnable, Waiting, read_buffers
from ..ndarray import NDArray
from ..ops import OpDef, Params
from ..ops.schema.traits import SPANS_DEVICES
from ..parallel import MemberStorage
from ..program import HostContents, made
from ._tape_segment import TapeSegment
from ._trace import CallTrace
from ._trace_plan import TracePlan


class _Output:
    """Storages that wait for a program's output, held weakly: unread ones are freed at once."""

    __slots__ = ("references",)

    def __init__(self, storages: Sequence[Storage]) -> None:
        self.references = list(map(weakref.ref, storages))

    @property
    def storages(self) -> list[Storage]:
        return [s for reference in self.references if (s := reference()) is not None]

    def defer(self, producer: Producer) -> None:
        for reference in self.references:
            storage = reference()
            if storage is not None:
                storage.defer(producer)

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        waited = False
        for reference in self.references:
            storage = reference()
            if storage is not None:
                waited = storage.set_result(producer, value) or waited
        return waited


class BoundTrace(Runnable[Any]):
    gradient_targets: list[NDArray]

    updates_by_residuals = True
    output_names = ()
    duplicate_targets = frozenset()
    runs_eagerly = False
    keep_gradients = True
    is_registered = False

    def __init__(
        self,
        plan: TracePlan,
        context: Context,
        *,
        arrays: tuple[Sequence[Any], ...],
        outputs: Sequence[Sequence[Storage]],
        targets: Sequence[NDArray],
        lock: threading.RLock,
        accumulates: bool = True,
    ) -> None:
        """Binds a plan to ``arrays`` (arguments and auxiliary states) and the arrays of outputs and
        gradients. ``accumulates`` False ignores grad_req 'add'. Runs at every step: anything that
        follows from the plan alone belongs to the plan."""
        program = plan.program
        self.plan = plan
        self.context = context
        self.program = program
        self.graph = program.graph
        self.arg_arrays, self.aux_arrays = list(arrays[0]), list(arrays[1])
        waiting: Any = tuple(map(_Output, outputs))
        self.outputs = list(waiting)
        self.gradient_targets = list(targets)
        self.accumulate = plan.accumulate if accumulates else (False,) * len(targets)
        self._accumulate = self.accumulate
        #: Gradients that later segments have given, which others are added to, by the target.
        self._sums: Mapping[int, Raw] = {}
        self.target_indices = dict(zip(map(id, targets), range(len(targets)), strict=True))
        self.uses_rng = (bool(plan.key_rows), bool(plan.key_rows))
        self.lock = lock
        states, grads = buffers_of(self.aux_arrays), buffers_of(targets)
        self.buffers = Buffers((), tuple(states), tuple(grads), waiting)

    def add_to(self, sums: Mapping[Variable, Raw]) -> None:
        if not sums and not self._sums:
            return
        indices = self.target_indices
        self._sums = {indices[id(v.grad)]: x for v, x in sums.items() if id(v.grad) in indices}
        self.accumulate = tuple([a or k in self._sums for k, a in enumerate(self._accumulate)])

    def accumulated_gradients(self) -> Operands:
        targets = enumerate(zip(self.gradient_targets, self._accumulate, strict=True))
        return tuple(
            [self._sums.get(k) if k in self._sums or not a else t.value for k, (t, a) in targets]
        )

    @property
    def deferred_arrays(self) -> tuple[Sequence[Any], ...]:
        variables = [a for a in self.arg_arrays if a is not None]
        outputs = [s for output in self.outputs for s in output.storages]
        return self.gradient_targets, outputs, self.aux_arrays, variables

    def next_key(self) -> Any:
        return next_key(self.context)


class RecordedStep(PendingStep):
    __slots__ = ()

    copies = True
    runnable: BoundTrace

    def __init__(
        self, run: BoundTrace, values: tuple[Operands, ...], draws: Sequence[np.ndarray]
    ) -> None:
        """Defers a run on ``values`` of arguments and states; ``draws`` are rows of key data."""
        self.runnable = run
        rows = key_rows(run.plan, draws)
        key = None if rows is None else HostContents(rows, run.context)
        super().__init__(run, True, key, values)

    @property
    def plan(self) -> TracePlan:
        return self.runnable.plan

    @property
    def outputs(self) -> Sequence[int]:
        return self.plan.outputs

    def copied(self, storage: Storage) -> Storage | None:
        """Returns a copy of a storage that waits; see :class:`CopyingProducer`."""
        with self.runnable.lock:
            state = self.state
            waits = isinstance(state, Waiting | Backward) and not state.failed
            if not waits or storage.producer is not self:
                return None
            for output in self.runnable.outputs:
                if storage in output.storages:
                    copy = Storage(storage.shape, storage.dtype, producer=self)
                    output.references.append(weakref.ref(copy))
                    return copy
        return None

    def vjp(
        self, heads: NumberedArrays
    ) -> tuple[list[tuple[int, Raw]], list[tuple[int, NDArray, Raw]]]:
        """Returns gradients of leaves and new auxiliary states by position; stores only outputs."""
        run, program = self.runnable, self.runnable.program
        with run.lock:
            self.force()
            state = self.state
            assert isinstance(state, Computed)
            if not program.argnums:
                return [], []
            cotangents = [heads.get(n) for n in self.plan.outputs]
            if state.residuals is None:
                call = *self.arrays(), cotangents
                *_, states, grads = program.forward_backward[True](*call)
            else:
                grads = program.backward(state.residuals, cotangents)
                states = state.backward_states
            indices = self.backward_state_indices
            current = made(read_buffers(run.buffers.aux))
            if any(current[n] is not self.aux[n] for n in indices):
                states = program.forward[1](self.args, current, self.key)[2]
            changed = [(self.plan.state_sources[n], run.aux_arrays[n]) for n in indices]
            pairs = list(zip(self.plan.leaves, grads, strict=True))
            return pairs, [(*c, value) for c, value in zip(changed, states, strict=True)]

    def contents(self, plan: TracePlan) -> Contents:
        with self.runnable.lock:
            self.force()
        return self.arrays()


class PartedStep(RecordedStep):
    """A step with entries of stacked arrays, read when it computes: it may become part of a step of
    all contexts, which takes the stacked arrays. ``trace`` is None for a part of a trace."""

    __slots__ = ("trace",)

    trace: CallTrace | None

    def _compute_outputs(self) -> None:
        self._check_devices()
        super()._compute_outputs()

    def _run(self, state: Backward) -> Any:
        self._check_devices()
        return super()._run(state)

    def _check_devices(self) -> None:
        for node in self.plan.program.graph.steps:
            if spans_devices(node.op, node.params):
                raise MXNetError(
                    node.op.name,
                    "its statistics span all contexts, but this context was computed alone",
                    because="a value was read before Trainer.step, or the contexts have recorded "
                    "different calls or shapes",
                    hint="equal parts of the batch (last_batch='discard'), looked at after "
                    "Trainer.step; BatchNorm has statistics of each context",
                )

    def _states_written(self, indices: Sequence[int]) -> bool:
        buffers, values = self.runnable.buffers.aux, self.raw_aux
        if all(isinstance(b, MemberStorage) and b.shows(values[n]) for n, b in enumerate(buffers)):
            return False
        return super()._states_written(indices)


def spans_devices(op: OpDef, params: Params) -> bool:
    """Returns whether a call's results in training depend on the batches of all contexts."""
    if SPANS_DEVICES not in op.traits or op.train_name is None:
        return False
    return params.ndev > 1 and not params.use_global_stats


def recorded_inputs(contents: Contents, plan: TracePlan, segment: TapeSegment) -> list[NDArray]:
    """Returns a plan's arguments, states and key data as arrays with the entries of leaves."""
    args, states, key = contents
    inputs = []
    for source, value in zip(plan.sources, args, strict=True):
        entry = segment.leaf_entries[source] if source >= 0 else None
        array = NDArray.from_jax(value, segment.context)
        array.graph_entry = entry
        inputs.append(array)
    others = [*states, *([] if key is None else [key])]
    return inputs + [NDArray.from_jax(value, segment.context) for value in others]


def key_rows(plan: TracePlan, draws: Sequence[np.ndarray]) -> np.ndarray | None:
    """Selects a program's rows of the segment's key data, in the order of its random operators."""
    rows = plan.key_rows
    if not rows:
        return None
    nothing = np.zeros(2, np.uint32)
    return np.stack([nothing if i is None else draws[i] for i in rows])


#: Contents of arguments, of auxiliary states, and key data, None where there is none.
Contents = tuple[tuple[Any, ...], tuple[Any, ...], Any]
