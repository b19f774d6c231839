"""Segments of calls that are recorded first, and computed later: as one program where possible."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import jax
import numpy as np

from .._support.annotations import Arrays, NumberedArrays, Operands, Raw
from ..arrays.handle import Handle
from ..arrays.pending import register_pending_owner, unregister_pending_owner
from ..arrays.protocol import Producer
from ..arrays.random_state import next_key_data
from ..arrays.storage import Storage
from ..calls.recording import Variable, modes
from ..calls.resolved_calls import GraphCall, ResolvedCall, check_targets, graph_call
from ..calls.rollback import complete
from ..context import Context
from ..ndarray import NDArray
from ..parallel import MemberStorage, StackedPart
from ..program import HostResult, made
from ._call_by_call import CallRun, can_run_by_calls
from ._explanation import note_run
from ._gradient_operator import gradient_call
from ._history import TraceHistory
from ._run import BoundTrace, PartedStep, RecordedStep, recorded_inputs
from ._tape_segment import Gradients, LeafEntry, Reached, RecordedValue, Status, TapeSegment
from ._trace import (
    MAX_CALLS,
    ROLE_OF_REQUEST,
    CallTrace,
    LeafKind,
    NumberUses,
    Role,
    leaf_kind,
    tree,
    with_fixed_states,
)
from ._trace_plan import Split, TracePlan, backward_plan, reached, reading_plan

_HISTORY = attrgetter("history")
_dead: Any = weakref.ref(Storage((), np.dtype("float32")))
_NOTHING: Mapping[int, Raw] = {}
_NO_SUMS: Mapping[Variable, Raw] = {}
#: Placeholder (number, version, entry) of an array not read yet.
_UNREAD = 0, -1, None


class _Deferral(NamedTuple):
    """A step whose gradients can be deferred; ``step`` may end recording, and be called again."""

    plan: TracePlan
    step: Callable[[], RecordedStep]


#: The arrays of a call as a segment knows them: for each the number of a value, ``~n`` if it has no
#: entry, or the kind of a new leaf; and by new leaf its contents, their version, and its entry.
References = tuple[list[int | LeafKind], dict[Handle, tuple[Any, int, LeafEntry]]]


class RecordedSegment(TapeSegment):
    """Calls on one context that were recorded one after the other. It is the producer of its
    values: when one is read, it closes, and one program computes all values that have arrays.
    ``backward`` closes it too. Programs are chosen, and run where necessary, before anything is
    changed; changes can be made twice and are completed (:func:`complete`), because an exception
    (KeyboardInterrupt) may come anywhere."""

    __slots__ = (
        "_copies",
        "_draws",
        "_has_parts",
        "_known",
        "_leaf_arrays",
        "_leaf_values",
        "_storages",
        "n_scopes",
        "step",
        "trace",
    )  # fmt: skip

    copies = True

    def __init__(self, context: Context, lock: threading.RLock) -> None:
        super().__init__(context, lock)
        self.trace = tree.root
        #: The number of scopes that were entered while it was open.
        self.n_scopes = 0
        self.step: RecordedStep | CallRun | None = None
        self._draws: list[np.ndarray] = []
        #: A flag: contents of some leaves are entries of stacked arrays.
        self._has_parts = False
        self._leaf_arrays: list[Raw] = []
        self._leaf_values: list[Raw] = []
        #: For every value a reference to its storage; a dead one for leaves.
        self._storages: list[weakref.ref[Storage]] = []
        #: Storages that hold values beside these: numbers, and references.
        self._copies: list[tuple[int, weakref.ref[Storage]]] = []
        #: By the array its number, its version and its entry.
        self._known: dict[Handle, tuple[int, int, Any]] = {}
        register_pending_owner(self)

    # -- recording -------------------------------------------------------------------------------

    def references(self, arrays: Sequence[Handle], states: Collection[int]) -> References:
        keys: list[int | LeafKind] = []
        new: dict[Handle, tuple[Any, int, LeafEntry]] = {}
        known, context, n_values = self._known, self.context, self.trace.n_values
        for k, array in enumerate(arrays):
            storage, entry = array.storage, array.graph_entry
            is_variable = entry.__class__ is Variable
            if entry.__class__ is RecordedValue and entry.segment is self:
                base = entry.base
                if storage.producer is not self if base is None else storage.version != base:
                    # Gradients of the new contents go on to what computed the old ones, as in
                    # MXNet.
                    with self.lock:
                        self.close("an array was written to", (entry.number,))
                keys.append(entry.number)
                continue
            number, version, of = known.get(array, _UNREAD)
            # Of an interrupted call there may be larger numbers.
            if version == storage.version and of is entry and number < n_values:
                keys.append(number)
                continue
            if not is_variable and storage.producer is self and array.covers_storage:
                keys.append(~self._number_of(storage))
                continue
            if array in new:
                # ``==`` of arrays compares their elements.
                place = next(n for n, other in enumerate(new) if other is array)
                keys.append(n_values + place)
                continue
            kind = value = link = None
            whole = storage.__class__ is Storage and array.covers_storage and k not in states
            is_known = storage.current is not None or storage.producer.__class__ is HostResult
            if whole and array.context is context and is_known:
                value = storage.producer if storage.current is None else storage.current
                if is_variable:
                    kind, link = entry.kind, entry
                elif entry is None:
                    kind = leaf_kind(storage.shape, storage.dtype, Role.CONSTANT)
            if kind is None or value is None:
                kind, value, link = self._new_leaf(array, entry, k in states)
            keys.append(kind)
            new[array] = value, storage.version, link
        return keys, new

    def _number_of(self, storage: Storage) -> int:
        for number in range(len(self._storages) - 1, -1, -1):
            if self._storages[number]() is storage:
                return number
        raise AssertionError("a recorded value has no number")

    def _new_leaf(
        self, array: Handle, entry: Any, is_state: bool
    ) -> tuple[LeafKind, Any, LeafEntry]:
        role, link, value = Role.CONSTANT, None, self._contents(array)
        if is_state:
            role = Role.STATE
        elif entry.__class__ is Variable:
            role, link = ROLE_OF_REQUEST[entry.request], entry
        elif entry is not None and entry.segment.leads_to_variables(entry):
            role, link = Role.EARLIER, entry
        kind = leaf_kind(value.shape, value.dtype, role)
        if isinstance(link, Variable):
            link.kind = kind
        return kind, value, link

    def _contents(self, array: Handle) -> Any:
        storage = array.storage
        part = storage.producer
        is_member = isinstance(storage, MemberStorage)
        if (is_member or part.__class__ is StackedPart) and array.covers_storage:
            if is_member and array.context == self.context:
                part = storage.snapshot()
            if part.__class__ is StackedPart and array.context == self.context:
                self._has_parts = True
                return part
        value = array.value
        if array.context is not self.context and value.devices() != {self.context.device}:
            value = jax.device_put(value, self.context.device)
        return value

    def add(
        self,
        resolved: ResolvedCall,
        train: bool,
        references: References,
        targets: Sequence[Handle] = (),
        uses: NumberUses | None = None,
    ) -> list[RecordedValue]:
        """Adds a call and returns its outputs, in the storages of ``targets`` if given. Callers
        hold the lock. The last assignment makes the call part of the segment; the remains of an
        interrupted call are dropped first."""
        before = self.trace
        keys, new = references
        trace = before.after(resolved, train, keys, uses)
        if targets:
            check_targets(f"operator {resolved.op.name}", targets, trace.output_types)
        if len(self._storages) != before.n_values:
            self._drop_interrupted()
        storages = self._storages
        if new:
            storages.extend([_dead] * len(new))
            n = before.n_values
            for array, (value, version, link) in new.items():
                self._leaf_arrays.append(array)
                self._leaf_values.append(value)
                self.leaf_entries.append(link)
                self._known[array] = n, version, array.graph_entry
                n += 1
        outputs = []
        number = trace.outputs.start
        for k, (shape, dtype) in enumerate(trace.output_types):
            storage = targets[k].storage if targets else Storage(shape, dtype, None, False, self)
            storages.append(weakref.ref(storage))
            outputs.append(RecordedValue(self, number + k, storage))
        if trace.draws:
            self._draws.append(next_key_data(self.context))
        self.trace = trace
        if targets:
            complete(lambda: [target.storage.defer(self) for target in targets])
        if trace.n_calls >= MAX_CALLS:
            self.close(f"{MAX_CALLS} calls were recorded")
        return outputs

    def add_graph(
        self, call: GraphCall, train: bool, references: References, check: Callable[[], object]
    ) -> tuple[list[RecordedValue], Sequence[int]]:
        """Adds the calls of a graph by one look-up; ``check`` is called for arrays of kinds that
        are new here. Returns its distinct outputs, and the place of each output among them; other
        values have no storage."""
        before = self.trace
        keys, new = references
        graph = before.after_graph(call, train, keys, check)
        trace = graph.trace
        if len(self._storages) != before.n_values:
            self._drop_interrupted()
        storages = self._storages
        storages += [_dead] * graph.n_new
        if new:
            arrays, facts, known = [*new], [*new.values()], self._known
            for place, number in graph.leaves:
                array = arrays[place]
                value, version, link = facts[place]
                self._leaf_arrays.append(array)
                self._leaf_values.append(value)
                self.leaf_entries.append(link)
                known[array] = number, version, array.graph_entry
        outputs = []
        for number, (shape, dtype) in graph.outputs:
            storage = Storage(shape, dtype, None, False, self)
            storages[number] = weakref.ref(storage)
            outputs.append(RecordedValue(self, number, storage))
        for _ in range(trace.n_draws - before.n_draws):
            self._draws.append(next_key_data(self.context))
        self.trace = trace
        if trace.n_calls >= MAX_CALLS:
            self.close(f"{MAX_CALLS} calls were recorded")
        return outputs, graph.places

    def graph_since(
        self, before: CallTrace, arrays: Sequence[Handle], output: int
    ) -> GraphCall | None:
        """Returns the calls after a trace as a graph's, or None if they have read other arrays."""
        places: dict[Any, int] = {x: k for k, x in enumerate(self.references(arrays, ())[0])}
        first, calls = len(arrays) - before.n_values, []
        for call in self.trace.calls_after(before):
            if not places.keys() >= {*call.inputs}:
                return None
            places.update((n, n + first) for n in call.outputs)
            inputs, results = ([places[n] for n in part] for part in (call.inputs, call.outputs))
            calls.append((call.resolved, tuple(inputs), tuple(results)))
        head = places.get(output, 0)
        graph = graph_call(tuple(range(len(arrays))), tuple(calls), (head,))
        return graph if graph.is_simple and head >= len(arrays) else None

    def _drop_interrupted(self) -> None:
        trace = self.trace
        known = self._known.items()
        self._known = {x: fact for x, fact in known if fact[0] < trace.n_values}
        del self._draws[trace.n_draws :]
        for leaves in (self._leaf_arrays, self._leaf_values, self.leaf_entries):
            del leaves[trace.n_leaves :]
        del self._storages[trace.n_values :]  # the last: it is what tells that some are left

    @property
    def has_living_values(self) -> bool:
        references = (*self._storages, *[reference for _, reference in self._copies])
        return any(reference() is not None for reference in references)

    # -- a pending value's producer ----------------------------------------------------------------

    @property
    def source(self) -> Producer:
        return self

    def __call__(self) -> None:
        with self.lock:
            self.close("a value was read")
            if isinstance(self.step, RecordedStep):
                self.step()

    def force(self) -> None:
        with self.lock:
            self.close("waitall")
            if isinstance(self.step, RecordedStep):
                self.step.force()

    def copied(self, storage: Storage) -> Storage | None:
        with self.lock:
            if self.status is not Status.RECORDING or storage.producer is not self:
                return None
            number = self._number_of(storage)
            copies = [s for n, r in self._copies if n == number and (s := r()) is not None]
            if not copies:
                copies.append(Storage(storage.shape, storage.dtype, producer=self))
                self._copies.append((number, weakref.ref(copies[0])))
            return copies[0]

    # -- closing -----------------------------------------------------------------------------------

    def _living(self) -> tuple[dict[int, list[Storage]], list[int]]:
        """Returns the storages that wait for values, by number; and the numbers of all values that
        have arrays, also arrays written to since: calls may read them."""
        alive: dict[int, list[Storage]] = {}
        held = {}
        values = [*enumerate(self._storages[: self.trace.n_values]), *self._copies]
        for number, reference in values:
            storage = reference()
            if storage is not None:
                held[number] = None
                if storage.producer is self:
                    alive.setdefault(number, []).append(storage)
        return alive, sorted(held) if self._copies else [*held]

    def close(self, cut: str, heads: Sequence[int] = ()) -> None:
        """Ends recording: the values wait for one program, which also returns ``heads``, and stay
        differentiable. ``cut`` is the reason, for ``explain``."""
        if self.status is not Status.RECORDING:
            return
        if self._runs_call_by_call():
            self._run_calls(cut)
        else:
            self._close_whole(cut, heads)

    def _close_whole(self, cut: str, heads: Sequence[int]) -> None:
        if self.status is not Status.RECORDING:
            return
        alive, held = self._living()
        numbers = tuple(dict.fromkeys((*held, *heads)))
        if not numbers:
            self._end()
            return
        plan = reading_plan(self.trace, numbers)
        is_new = note_run(cut, "forward", self.trace, plan)
        outputs = self._output_storages(plan, alive)

        def defer() -> None:
            if self.status is Status.RECORDING:
                self.step = step = self._step(plan, outputs, self._targets(plan))
                step.runnable.is_new = is_new
            self._let_go(Status.CLOSED)

        complete(defer)

    def _runs_call_by_call(self) -> bool:
        if not can_run_by_calls(self.trace):
            return False
        variables: list[Raw] = [e for e in self.leaf_entries if e.__class__ is Variable]
        if not variables:
            return False
        histories = list(map(_HISTORY, variables))
        history = next(filter(None, histories), None) or TraceHistory()
        if None in histories:  # the next trace may begin with any of them
            for variable in variables:
                if variable.history is None:
                    variable.history = history
        return not history.runs_whole(self.trace)

    def _run_calls(self, cut: str) -> None:
        alive, _ = self._living()
        run = CallRun(self.trace, self.context, made(self._leaf_values), self._draws)
        note_run(cut, "call by call", self.trace, None)
        values = {number: run.array(number) for number in alive}

        def store() -> None:
            self._store_values(alive, values)
            self.step = run
            self._let_go(Status.CLOSED)

        complete(store)

    def _store_values(self, alive: Mapping[int, Sequence[Storage]], values: NumberedArrays) -> None:
        for number, value in values.items():
            for storage in alive.get(number, ()):
                storage.set_result(self, value)

    def _output_storages(
        self, plan: TracePlan, alive: Mapping[int, list[Storage]]
    ) -> list[list[Storage]]:
        return [alive.get(n) or [Storage(*self.trace.type_of(n))] for n in plan.outputs]

    def _targets(self, plan: TracePlan) -> list[Raw]:
        entries = self.leaf_entries
        return [getattr(entries[i], "grad", _NOWHERE) for i in plan.leaves]

    def _step(
        self,
        plan: TracePlan,
        outputs: Sequence[Sequence[Storage]],
        targets: list[Raw],
        computed: NumberedArrays = _NOTHING,
        accumulates: bool = True,
        values: Arrays = (),
        writes: bool = True,
    ) -> RecordedStep:
        """Returns a step of a plan; ``values`` are contents of released leaves. Unless it
        ``writes``, it changes copies of the auxiliary states."""
        values, arrays = values or self._leaf_values, self._leaf_arrays

        def read(sources: Sequence[int], leaves: Arrays, others: Any) -> Operands:
            if not others:
                return tuple(map(leaves.__getitem__, sources))
            return tuple([leaves[i] if i >= 0 else others[~i] for i in sources])

        nothing = dict.fromkeys(computed)
        sources = plan.sources, plan.state_sources
        args, states = read(sources[0], arrays, nothing), read(sources[1], arrays, nothing)
        if not writes:
            states = tuple([NDArray.from_jax(x.value, self.context) for x in states])
        for entry in self.leaf_entries:
            if isinstance(entry, Variable):
                entry.is_trained = True
                break
        run = BoundTrace(
            plan,
            self.context,
            arrays=(args, states),
            outputs=outputs,
            targets=targets,
            lock=self.lock,
            accumulates=accumulates,
        )
        contents = read(sources[0], values, computed), read(sources[1], values, computed)
        if not self._has_parts:
            return RecordedStep(run, contents, self._draws)
        step = PartedStep(run, contents, self._draws)
        step.trace = None if computed else self.trace
        return step

    def _let_go(self, status: Status) -> None:
        self.status = status
        unregister_pending_owner(self)
        self._known = {}
        self._leaf_values = []
        self._storages = []
        self._copies = []

    def _end(self) -> None:
        self._let_go(Status.USED_UP)
        self._leaf_arrays = []
        self.leaf_entries = []
        if isinstance(self.step, RecordedStep):
            self.step.runnable.is_used_up = True
        self.step = None

    # -- gradients ---------------------------------------------------------------------------------

    def reached(self, heads: Sequence[int]) -> Reached:
        return reached(self.trace, tuple(heads))

    def gradients(self, heads: NumberedArrays, train_mode: bool) -> Gradients:
        numbers = tuple(sorted(heads))
        trace, step = self._differentiated(numbers, train_mode)
        reach = reached(trace, numbers)
        grads, states = step.vjp(heads)
        leaves = [(i, grad) for i, grad in grads if i in reach.leaves]
        return Gradients(leaves, [(x, new) for i, x, new in states if i in reach.states])

    def recorded_gradients(
        self, heads: Mapping[int, NDArray], train_mode: bool
    ) -> Sequence[tuple[int, NDArray]]:
        numbers = tuple(sorted(heads))
        trace, step = self._differentiated(numbers, train_mode)
        plan = step.plan if isinstance(step, RecordedStep) else reading_plan(trace, numbers)
        resolved = gradient_call(trace, plan, numbers)
        arrays = recorded_inputs(step.contents(plan), plan, self)
        inputs = [*arrays, *[heads[n] for n in numbers]]
        grads = modes.recorder.record(resolved, NDArray, inputs)
        grads = grads if isinstance(grads, list) else [grads]
        return list(zip(reached(trace, numbers).leaves, grads, strict=True))

    def _differentiated(
        self, heads: tuple[int, ...], train_mode: bool
    ) -> tuple[CallTrace, RecordedStep | CallRun]:
        step = self.step
        assert step is not None
        trace = self.trace if train_mode else with_fixed_states(self.trace)
        if trace is self.trace or not isinstance(step, RecordedStep):
            return self.trace, step
        args, states, _ = step.contents(step.plan)
        values: list[Raw] = [None] * trace.n_leaves
        for source, value in zip(step.plan.sources, args, strict=True):
            values[source] = value
        for source, value in zip(step.plan.state_sources, states, strict=True):
            values[source] = value
        plan = reading_plan(trace, heads)
        outputs = self._output_storages(plan, {})
        return trace, self._step(plan, outputs, self._targets(plan), values=values)

    def backward(
        self, heads: NumberedArrays, reach: Reached, retain: bool,
        requested: Mapping[Variable, Raw] | None = None, sums: Mapping[Variable, Raw] = _NO_SUMS,
    ) -> Callable[[], None] | None:  # fmt: skip
        """Returns a function, which may be called twice, that defers gradients to the segment's
        program, added to the ``sums`` of later segments; ``requested`` are arrays in place of the
        variables' own. None where gradients go on to earlier segments or the program already
        runs."""
        numbers = tuple(heads)
        entries: list[Raw] = [self.leaf_entries[i] for i in reach.leaves]
        if {*map(type, entries)} != {Variable} or len({*entries}) != len(entries):
            return None
        deferral = self._deferral(numbers, reach, entries, retain, requested)
        if deferral is None:
            return None
        plan, close = deferral
        if not {*plan.outputs}.issuperset(numbers):
            return None
        grads = list(map(heads.get, plan.outputs))

        def defer() -> None:
            step = close()
            if step.heads is not grads:
                step.runnable.add_to(sums)
                step.backward(grads)
            for entry in entries if requested is None else ():
                entry.is_fresh = True
            if not retain:
                self.use_up(numbers)

        return defer

    def _deferral(
        self, heads: tuple[int, ...], reach: Reached, entries: Sequence[Variable], retain: bool,
        requested: Any,
    ) -> _Deferral | None:  # fmt: skip
        if requested is None and len({e.grad.storage for e in entries}) != len(entries):
            return None
        if self.status is Status.RECORDING and self._runs_call_by_call():
            self._run_calls("backward")
            return None
        chosen = reach.leaves
        if requested is not None:
            pairs = zip(chosen, entries, strict=True)
            chosen = tuple([i for i, e in pairs if e in requested])
        if not retain and self.status is Status.RECORDING:
            return self._closing_deferral(heads, chosen, requested)
        if requested is not None:
            return None
        self._close_whole("backward", heads)
        step = self.step
        if not isinstance(step, RecordedStep) or {*step.plan.leaves} != {*chosen}:
            return None
        if not reach.states.issuperset(step.plan.state_sources):
            return None
        # The next backward needs what forward leaves, which the program of both does not return.
        if not step.has_outputs:
            step()
        return _Deferral(step.plan, lambda: step)

    def _closing_deferral(
        self, heads: tuple[int, ...], chosen: tuple[int, ...], requested: Any
    ) -> _Deferral | None:
        """Ends recording when its function is called; the path of the gradients is used up after
        them. The remaining values are computed here, if they can be separated."""
        alive, held = self._living()
        plan = backward_plan(self.trace, tuple(held), heads, chosen)
        if plan is None:
            return None
        first, computed, plan = self._divided(plan)
        targets = self._targets(plan)
        if requested is not None:
            entries = [self.leaf_entries[i] for i in plan.leaves]
            targets = [requested[e] for e in entries if isinstance(e, Variable)]
        outputs = self._output_storages(plan, alive)
        step: RecordedStep | None = None

        def close() -> RecordedStep:
            nonlocal step
            if step is None:
                step = self._step(plan, outputs, targets, computed, requested is None)
            self._store_values(alive, computed)
            self._go_on_with(first, heads, plan)
            return step

        return _Deferral(plan, close)

    def _divided(
        self, plan: TracePlan | Split
    ) -> tuple[RecordedStep | None, Mapping[int, Raw], TracePlan]:
        first: RecordedStep | None = None
        computed: NumberedArrays = _NOTHING
        if isinstance(plan, Split):
            first_plan, plan = plan
            outputs = self._output_storages(first_plan, {})
            first = self._step(first_plan, outputs, self._targets(first_plan))
            values = [storage.value for (storage,) in outputs]
            computed = dict(zip(first_plan.outputs, values, strict=True))
            note_run("backward", "forward", self.trace, first_plan)
        note_run("backward", "forward and backward", self.trace, plan)
        return first, computed, plan

    def _go_on_with(
        self, step: RecordedStep | None, heads: tuple[int, ...], plan: TracePlan
    ) -> None:
        if step is None:
            self._end()
            return
        self.step = step
        self.used.update(reached(self.trace, heads).values, plan.outputs)
        self._let_go(Status.CLOSED)

    def last_gradients(self, heads: NumberedArrays) -> tuple[Gradients, Callable[[], None]] | None:
        """Computes :meth:`gradients` by one program with forward, and returns them with a function
        that uses up their path. None where forward has to run by itself."""
        if self.status is not Status.RECORDING:
            return None
        if self._runs_call_by_call():
            self._run_calls("backward")
            return None
        numbers = tuple(sorted(heads))
        alive, held = self._living()
        divided = backward_plan(self.trace, tuple(held), numbers, None)
        if divided is None:
            self._close_whole("backward", numbers)
            return None
        first, computed, plan = self._divided(divided)
        outputs = self._output_storages(plan, {})
        types = [self.trace.all_leaves[i] for i in plan.leaves]
        storages = [Storage(kind.shape, kind.dtype) for kind in types]
        targets = [NDArray.from_storage(s, 0, s.shape, self.context) for s in storages]
        step = self._step(plan, outputs, targets, computed, accumulates=False, writes=False)
        step.backward([heads.get(n) for n in plan.outputs])
        step()
        indices, aux = step.backward_state_indices, step.runnable.aux_arrays
        states = [(self._leaf_arrays[plan.state_sources[n]], aux[n].value) for n in indices]
        values = {n: s.value for n, (s,) in zip(plan.outputs, outputs, strict=True)}
        grads = [(i, s.value) for i, s in zip(plan.leaves, storages, strict=True)]

        def end() -> None:
            self._store_values(alive, {**computed, **values})
            self._go_on_with(first, numbers, plan)

        return Gradients(grads, states), end

    def use_up(self, heads: Sequence[int]) -> None:
        if self.status is Status.USED_UP or self.step is None:
            return
        used = self.used | self.reached(heads).values
        self.used = used
        if used.issuperset(self.step.outputs):
            self._end()


_NOWHERE: Any = NDArray.from_storage(
    Storage((), np.dtype("float32"), producer=None), 0, (), Context("cpu", 0)
)
