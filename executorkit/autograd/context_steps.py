"""Equal steps of several contexts as one step, whose program is mapped over their devices.

A loop over contexts records the same calls on each, so that their traces are one object. As long as
no result has been read, the values and gradients that wait for the steps can wait for one step of
all devices instead. Parameters are its stacked arrays; all else is assembled from the parts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from .._support.annotations import Arrays, Operands, Raw, Tree
from ..arrays.protocol import Producer
from ..arrays.storage import Storage
from ..calls.rollback import complete
from ..executor import Backward, BoundGraph, Buffers, PendingStep, Waiting
from ..ndarray import NDArray
from ..parallel import (
    PmapProgram,
    Replicas,
    StackedPart,
    can_replicate,
    note_joint_step,
    replicated,
)
from ..program import made
from ._run import PartedStep
from ._trace_plan import TracePlan, plan_of


class _Spread:
    """Storages of several contexts that wait for a stacked array's parts, held weakly."""

    __slots__ = ("replicas", "storages")

    def __init__(self, storages: Sequence[Sequence[Storage]], replicas: Replicas) -> None:
        self.storages = [[weakref.ref(s) for s in waiting] for waiting in storages]
        self.replicas = replicas

    def living(self) -> list[tuple[int, Storage]]:
        held = [(k, r()) for k, references in enumerate(self.storages) for r in references]
        return [(k, storage) for k, storage in held if storage is not None]

    def defer(self, producer: Producer) -> None:
        for _, storage in self.living():
            storage.defer(producer)

    @property
    def pending(self) -> Producer | None:
        return next((p for _, s in self.living() if (p := s.pending) is not None), None)

    current = None

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        for k, storage in self.living():
            if storage.producer is producer:
                storage.defer(StackedPart(value, self.replicas, k))
        return True


class _ContextsRun(BoundGraph[Any]):
    def __init__(
        self, plan: TracePlan, steps: Sequence[PartedStep], arrays: Arrays,
        states: Arrays, outputs: Sequence[_Spread], targets: Arrays,
    ) -> None:  # fmt: skip
        self.contexts = [step.runnable.context for step in steps]
        self.replicas = Replicas.of(self.contexts)
        super().__init__(
            plan.program.graph,
            PmapProgram.of(plan.program, self.replicas, averages_states=False),
            arrays,
            states,
            outputs,
            targets,
            accumulate=plan.accumulate,
            lock=steps[0].runnable.lock,
        )
        self.buffers = Buffers((), *self.buffers[1:])
        self.uses_rng = (bool(plan.key_rows), bool(plan.key_rows))

    def set_sums(self, sums_gradients: bool, all_processes: bool) -> None:
        self.sums_gradients = sums_gradients
        self.joins_processes = all_processes

    def next_key(self) -> Any:
        return self.replicas.keys(self.contexts)

    def note_step(self, results: Tree, undo: Sequence[Callable[[], object]]) -> None:
        note_joint_step(results, (), undo)


class _ContextsStep(PendingStep):
    __slots__ = ()

    def _states_written(self, indices: Sequence[int]) -> bool:
        return False  # or the steps would not have been combined


def combine_steps(
    arrays: Sequence[NDArray], sums_gradients: bool = False, all_processes: bool = False
) -> bool:
    """Replaces the steps that these gradients, one of each context, wait for by one step of all
    contexts; False, with nothing changed, if a result has been read or written to, the contexts
    have recorded different calls, or gradients are added. ``sums_gradients``: an update in the
    program leaves sums as gradients, ``all_processes``: over all processes of the job."""
    steps: list[Raw] = [x.storage.producer for x in arrays]
    first = steps[0]
    whole = replicated(arrays)
    if whole is not None and isinstance(whole.source, _ContextsStep):
        if whole.has_written_members:
            return False
        run = whole.source.runnable
        assert isinstance(run, _ContextsRun)
        run.set_sums(sums_gradients, all_processes)
        return True
    if first.__class__ is not PartedStep or not can_replicate([x.context for x in arrays], ()):
        return False
    with first.runnable.lock:
        combination = _combine(steps)
        if combination is None:
            return False
        run, values, key, heads = combination
        del combination, steps, first  # donated arrays may have no other reference
        run.set_sums(sums_gradients, all_processes)
        step: _ContextsStep | None = None

        def replace() -> None:
            nonlocal step
            if step is None:
                step = _ContextsStep(run, True, key, values)
            if step.heads is not heads:
                step.backward(heads)

        complete(replace)
    return True


class _Combination(NamedTuple):
    """The parts of a combined step; ``values`` are its arguments and auxiliary states."""

    run: _ContextsRun
    values: tuple[Operands, Operands]
    key: Any
    heads: Arrays


def _combine(steps: Sequence[PartedStep]) -> _Combination | None:
    lock = steps[0].runnable.lock
    if len({*map(id, steps)}) < len(steps) or not all(map(_is_untouched, steps)):
        return None
    if any(s.runnable.lock is not lock for s in steps):
        return None
    plan = _common_plan(steps)
    if plan is None:
        return None
    rows = _Rows(plan, steps)
    targets, states, heads = rows.targets(), rows.states(), rows.heads()
    if targets is None or states is None or heads is None:
        return None
    arrays, args = rows.arguments()
    run = _ContextsRun(plan, steps, arrays, states[0], rows.outputs(), targets)
    key = None
    if plan.key_rows:
        key = rows.replicas.from_host(np.stack([s.raw_key.read() for s in steps]))
    return _Combination(run, (tuple(args), tuple(states[1])), key, heads)


def _is_untouched(step: Any) -> bool:
    """Returns whether a step's gradients wait for a whole trace, replace others and are unread."""
    if step.__class__ is not PartedStep or step.trace is None:
        return False
    state = step.state
    return (
        isinstance(state, Backward)
        and isinstance(state.before, Waiting)
        and not (state.failed or state.accumulated or state.states_written)
        and state.update is None
        and state.scale is None
        and not step.plan.program.graph.checks_values
    )


def _common_plan(steps: Sequence[PartedStep]) -> TracePlan | None:
    first = steps[0]
    plan, trace = first.plan, first.trace
    if trace is None or any(s.trace is not trace for s in steps):
        return None
    if all(s.plan is plan for s in steps):
        return plan
    # Of the last context there are more values: the variables of a loop hold them.
    leaves = frozenset(plan.leaves)
    if any(frozenset(s.plan.leaves) != leaves for s in steps):
        return None
    outputs = tuple(sorted({n for s in steps for n in s.plan.outputs}))
    key = "combined", outputs, leaves
    common: TracePlan = trace.pattern.known(
        key, lambda: plan_of(trace, trace.calls, outputs, leaves)
    )
    return common if all(s.plan.key_rows == common.key_rows for s in steps) else None


class _Rows:
    def __init__(self, plan: TracePlan, steps: Sequence[PartedStep]) -> None:
        self._plan = plan
        self._steps = steps
        self.replicas = Replicas.on([s.runnable.context.device for s in steps])

    def targets(self) -> list[Raw] | None:
        columns = [
            dict(zip(s.plan.leaves, s.runnable.gradient_targets, strict=True)) for s in self._steps
        ]
        targets: list[Raw] = []
        for leaf in self._plan.leaves:
            row = [column[leaf] for column in columns]
            if not self._waits(row):
                return None
            targets.append(replicated(row) or _Spread([[t.storage] for t in row], self.replicas))
        return targets

    def _waits(self, row: Sequence[NDArray]) -> bool:
        return all(x.storage.producer is s for x, s in zip(row, self._steps, strict=True))

    def states(self) -> tuple[list[Raw], list[Raw]] | None:
        """Returns the states and their contents; None if one is not replicated or was written."""
        columns = [
            dict(zip(s.plan.state_sources, s.runnable.aux_arrays, strict=True)) for s in self._steps
        ]
        contents = [dict(zip(s.plan.state_sources, s.raw_aux, strict=True)) for s in self._steps]
        changed = self._plan.program.backward_state_indices
        arrays: list[Raw] = []
        values: list[Raw] = []
        for n, source in enumerate(self._plan.state_sources):
            row = [column[source] for column in columns]
            array = replicated(row)
            if array is None or (n in changed and not self._waits(row)):
                return None
            arrays.append(array)
            values.append(self._stacked([column[source] for column in contents]))
        return arrays, values

    def arguments(self) -> tuple[list[Raw], list[Raw]]:
        columns = [
            dict(zip(s.plan.sources, s.runnable.arg_arrays, strict=True)) for s in self._steps
        ]
        contents = [dict(zip(s.plan.sources, s.raw_args, strict=True)) for s in self._steps]
        nothing: list[list[Storage]] = [[] for _ in self._steps]
        arrays: list[Raw] = []
        values: list[Raw] = []
        for source in self._plan.sources:
            array = replicated([column[source] for column in columns])
            row = [column[source] for column in contents]
            arrays.append(array or _Spread(nothing, self.replicas))
            shown = array is not None and array.shows(row)
            values.append(array.value if array and shown else self._stacked(row))
        return arrays, values

    def outputs(self) -> list[_Spread]:
        steps = self._steps
        columns = [dict(zip(s.plan.outputs, s.runnable.outputs, strict=True)) for s in steps]
        return [
            _Spread(
                [_waiting(c.get(n), s) for c, s in zip(columns, steps, strict=True)], self.replicas
            )
            for n in self._plan.outputs
        ]

    def heads(self) -> list[Raw] | None:
        """Returns head gradients; None if the steps have them for different outputs."""
        columns = [dict(zip(s.plan.outputs, s.heads or (), strict=True)) for s in self._steps]
        heads: list[Raw] = []
        for n in self._plan.outputs:
            row = [column.get(n) for column in columns]
            present = [h is not None for h in row]
            if any(present) and not all(present):
                return None
            heads.append(self._stacked_head(row) if all(present) else None)
        return heads

    def _stacked_head(self, row: Arrays) -> Any:
        key = tuple(map(id, row))
        known = _known_heads.get(key)
        if known is None:
            known = row, self._stacked(row)
            if row[0].size <= _MAX_HEAD:
                if len(_known_heads) >= _MAX_HEADS:
                    _known_heads.clear()
                _known_heads[key] = known
        return known[1]

    def _stacked(self, row: Arrays) -> Any:
        first = row[0]
        if first.__class__ is StackedPart and first.replicas is self.replicas:
            stacked = first.stacked
            if all(
                v.__class__ is StackedPart and v.stacked is stacked and v.position == k
                for k, v in enumerate(row)
            ):
                return stacked
        return self.replicas.assemble(made(row))


def _waiting(output: Any, step: PartedStep) -> list[Storage]:
    return [] if output is None else [s for s in output.storages if s.producer is step]


#: Head gradients of devices, and the stacked arrays of them, by the identities of the former.
_known_heads: dict[tuple[int, ...], tuple[Sequence[Any], Any]] = {}
_MAX_HEAD, _MAX_HEADS = 4096, 64
