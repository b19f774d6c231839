"""Traces: sequences of recorded calls, in a tree in which equal sequences are one state.

A loop records the same calls at every step, so recording builds no graph: each call moves from one
state of the tree to the next by one look-up, and shapes, graphs and programs are looked up at the
states. The key of a call holds the resolved call and where its inputs come from: values of the same
trace by their numbers, or new leaves by shape, dtype and role.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from .._support.annotations import Raw, Tree
from ..calls.resolved_calls import ArrayType, GraphCall, ResolvedCall, output_types
from ..errors import MXNetError
from ..lowering import memoize
from ..ops import OpDef, Params

#: Maximum number of calls of a trace. A longer one is cut.
MAX_CALLS = 4096
#: Maximum number of numbers that are constants of programs at one place of a trace.
MAX_CONSTANTS = 2
#: Maximum number of facts and plans of a trace.
_MAX_PLANS = 64
#: Maximum number of states; one more clears the tree, except for the patterns and plans, which the
#: same calls on arrays of other sizes share. These are cleared after more states in all.
_MAX_STATES, _MAX_ALL_STATES = 8_192, 65_536


class Role(Enum):
    CONSTANT = "no gradient"
    WRITE = "a variable whose gradient is written"
    ADD = "a variable whose gradient is added"
    NULL = "a variable without a gradient"
    STATE = "an auxiliary state"
    EARLIER = "a value of an earlier segment that can be differentiated"

    __hash__ = object.__hash__  # Enum's is a Python function


#: Roles of the leaves that gradients are computed for.
DIFFERENTIATED = frozenset({Role.WRITE, Role.ADD, Role.EARLIER})
ROLE_OF_REQUEST = {"write": Role.WRITE, "add": Role.ADD, "null": Role.NULL}


class LeafKind:
    """Shape, dtype and role of a leaf; there is one object for each. ``pattern`` has no sizes."""

    __slots__ = ("dtype", "pattern", "role", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, role: Role) -> None:
        self.shape = shape
        self.dtype = dtype
        self.role = role
        self.pattern = len(shape), dtype, role


_UNKNOWN: Any = object()
#: Held where traces in a row share a list.
_lock = threading.Lock()
#: The kind of a leaf.
leaf_kind = lru_cache(maxsize=_MAX_STATES // 4)(LeafKind)


class GraphTrace(NamedTuple):
    """The trace after a graph's calls, and its number of new values; its new leaves, by place and
    number; and its outputs: the place of each among the distinct ones, by number and type."""

    trace: CallTrace
    n_new: int
    leaves: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    outputs: tuple[tuple[int, ArrayType], ...]


class Skeleton:
    """Traces of the same calls except for numbers, whatever the inputs are."""

    __slots__ = ("_next", "_uses")

    def __init__(self) -> None:
        self._next: dict[Hashable, Skeleton] | None = None
        self._uses: dict[ResolvedCall, NumberUses] | None = None

    def after(self, key: Any) -> Skeleton:
        if self._next is None:
            self._next = {}
        skeleton = self._next.get(key)
        if skeleton is None:
            skeleton = self._next[key] = Skeleton()
        return skeleton

    def numbers_of(self, resolved: ResolvedCall) -> NumberUses:
        """Returns the scalars this call was recorded with at this point of the trace."""
        if self._uses is None:
            self._uses = {}
        uses = self._uses.get(resolved)
        if uses is None:
            uses = self._uses[resolved] = NumberUses()
        return uses


class NumberUses:
    """Numbers of one call at a place of a trace; ``skeleton`` stands for the traces after it."""

    __slots__ = ("_calls", "skeleton")

    def __init__(self) -> None:
        self.skeleton = Skeleton()
        #: The call with its numbers as constants, by these; zeros, whose signs differ, as text.
        self._calls: dict[Any, ResolvedCall] | None = {}

    def constant(self, resolved: ResolvedCall, numbers: tuple[float, ...]) -> ResolvedCall | None:
        """Returns the call with these numbers as constants; None where the numbers, with these,
        change between steps and should be inputs."""
        if self._calls is None:
            return None
        key = str(numbers) if 0.0 in numbers else numbers
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = resolved.with_numbers(numbers)
            if len(self._calls) > MAX_CONSTANTS:
                self._calls = None
                return None
        return call


class _Facts:
    __slots__ = ("_plans",)

    def __init__(self) -> None:
        # Most traces of ever-new graphs have one that follows, and no plan.
        self._plans: dict[Hashable, Any] | None = None

    @property
    def plans(self) -> list[Any]:
        return [] if self._plans is None else list(self._plans.values())

    def known(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """Returns the fact or the plan of a key, computed by ``find`` the first time."""
        if self._plans is None:
            self._plans = {}
        plan = self._plans.get(key, _UNKNOWN)
        return memoize(self._plans, key, find(), _MAX_PLANS) if plan is _UNKNOWN else plan


class TracePattern(_Facts):
    """Traces of the same calls on arrays of any sizes, and the plans that these share."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[Hashable, TracePattern] | None = None

    def after(
        self, resolved: ResolvedCall, train: bool, references: Sequence[int | LeafKind]
    ) -> TracePattern:
        key = resolved, train, *[r if isinstance(r, int) else r.pattern for r in references]
        if self._next is None:
            self._next = {}
        pattern = self._next.get(key)
        if pattern is None:
            pattern = self._next[key] = TracePattern()
        return pattern


class CallTrace(_Facts):
    """A sequence of recorded calls: a state of the tree. Values are numbered, leaves included."""

    __slots__ = (
        "_next", "_types", "draws", "inputs", "leaves", "n_calls", "n_draws", "n_leaves",
        "n_values", "op", "output_types", "outputs", "parent", "pattern", "resolved", "skeleton",
    )  # fmt: skip

    #: The last call's operator, in the mode of recording.
    op: OpDef
    resolved: ResolvedCall
    #: The numbers of its inputs. ``~n`` is value n as a constant: an array without an entry.
    inputs: tuple[int, ...]
    outputs: range
    output_types: tuple[ArrayType, ...]

    def __init__(
        self,
        parent: CallTrace | None,
        types: list[ArrayType],
        skeleton: Skeleton,
        pattern: TracePattern,
    ) -> None:
        super().__init__()
        #: The trace without its last call; None for the trace without calls.
        self.parent = parent
        #: The traces that differ from it by numbers alone.
        self.skeleton = skeleton
        #: The traces that differ from it by sizes alone.
        self.pattern = pattern
        self._next: dict[Hashable, CallTrace] | None = None
        #: The kinds of its new leaves, whose numbers come first.
        self.leaves: tuple[LeafKind, ...] = ()
        self.draws = False
        self.n_values = self.n_leaves = self.n_calls = self.n_draws = 0
        #: Shapes and dtypes of all values, perhaps followed by others: traces in a row share it.
        self._types = types

    def _extended(
        self,
        resolved: ResolvedCall,
        train: bool,
        references: Sequence[int | LeafKind],
        skeleton: Skeleton,
    ) -> CallTrace:
        p, op = resolved.params, resolved.op if train else in_inference(resolved.op)
        leaves = [r for r in references if isinstance(r, LeafKind)]
        numbers = iter(range(self.n_values, self.n_values + len(leaves)))
        inputs = tuple([r if isinstance(r, int) else next(numbers) for r in references])
        new_types = [(leaf.shape, leaf.dtype) for leaf in leaves]
        known, count = self._types, self.n_values
        places = [n if n >= 0 else ~n for n in inputs]
        input_types = tuple([known[n] if n < count else new_types[n - count] for n in places])
        types_of_outputs = output_types(resolved, op, input_types)
        with _lock:
            shared = len(self._types) == self.n_values
            types = self._types if shared else self._types[: self.n_values]
            types += [*new_types, *types_of_outputs]
        trace = CallTrace(self, types, skeleton, self.pattern.after(resolved, train, references))
        trace.resolved, trace.op = resolved, op
        trace.leaves, trace.inputs = tuple(leaves), inputs
        trace.output_types = types_of_outputs
        first = self.n_values + len(leaves)
        trace.outputs = range(first, first + resolved.n_visible)
        trace.n_values = trace.outputs.stop
        trace.n_leaves = self.n_leaves + len(leaves)
        trace.n_calls = self.n_calls + 1
        trace.draws = op.uses_rng(p, train)
        trace.n_draws = self.n_draws + trace.draws
        return trace

    def note_run(self, plan: object) -> bool:
        """Returns whether this is the plan's first run for arrays of these sizes."""
        is_first = self._plans is None or plan not in self._plans
        if is_first:
            self.known(plan, lambda: plan)
        return is_first

    @property
    def following(self) -> list[CallTrace]:
        return [] if self._next is None else list(self._next.values())

    @property
    def calls(self) -> list[CallTrace]:
        """The calls in the order of recording, each as the trace that it ends."""
        return self.calls_after(None)

    def calls_after(self, before: CallTrace | None) -> list[CallTrace]:
        calls: list[CallTrace] = []
        trace: CallTrace = self
        while trace.parent is not None and trace is not before:
            calls.append(trace)
            trace = trace.parent
        return calls[::-1]

    @property
    def leaf_numbers(self) -> list[int]:
        numbers: list[int] = []
        for call in self.calls:
            numbers += range(call.outputs.start - len(call.leaves), call.outputs.start)
        return numbers

    @property
    def all_leaves(self) -> list[LeafKind]:
        return [leaf for call in self.calls for leaf in call.leaves]

    def calls_for(self, values: Iterable[int]) -> list[CallTrace]:
        """Returns the calls that compute values, directly or not, in their order."""
        needed, calls = set(values), []
        for call in reversed(self.calls):
            if not needed.isdisjoint(call.outputs):
                calls.append(call)
                needed.update(n if n >= 0 else ~n for n in call.inputs)
        return calls[::-1]

    def type_of(self, number: int) -> ArrayType:
        return self._types[number]

    def after(
        self,
        resolved: ResolvedCall,
        train: bool,
        references: Sequence[int | LeafKind],
        uses: NumberUses | None = None,
    ) -> CallTrace:
        """Returns the trace with one more call, by one look-up if it has been recorded before.
        MXNetError for inputs that do not fit."""
        key = (resolved, train, *references)
        trace = None if self._next is None else self._next.get(key)
        if trace is None:
            skeleton = self.skeleton.after(resolved) if uses is None else uses.skeleton
            trace = self._extended(resolved, train, references, skeleton)
            tree.count_trace()
            if self._next is None:
                self._next = {}
            self._next[key] = trace
        return trace

    def after_graph(
        self,
        graph: GraphCall,
        train: bool,
        references: Sequence[int | LeafKind],
        check: Callable[[], object],
    ) -> GraphTrace:
        """Returns the trace with a graph's calls. If one does not fit, ``check`` may say more."""
        key = (graph, train, *references)
        known = None if self._plans is None else self._plans.get(key)
        if known is not None:
            return known
        try:
            return self.known(key, lambda: _walked(self, graph, train, references))
        except MXNetError:
            check()
            raise


def _walked(
    trace: CallTrace, graph: GraphCall, train: bool, references: Sequence[int | LeafKind]
) -> GraphTrace:
    values: dict[int, Raw] = dict(zip(graph.inputs, references, strict=True))
    new = [n for n, r in zip(graph.inputs, references, strict=True) if isinstance(r, LeafKind)]
    leaves: list[tuple[int, int]] = []
    before = trace.n_values
    for call, inputs, outputs in graph.calls:
        numbers: list[Raw] = []
        fresh = trace.n_values
        for n in inputs:
            numbers.append(values[n])
            if isinstance(values[n], LeafKind):
                leaves.append((new.index(n), fresh))
                values[n] = fresh
                fresh += 1
        op_trains = train or call.op.train_name is None
        trace = trace.after(call, op_trains, tuple(numbers))
        values.update(zip(outputs, trace.outputs, strict=True))
    numbers = [values[n] for n in graph.outputs]
    distinct = [*dict.fromkeys(numbers)]
    outputs = tuple([(n, trace.type_of(n)) for n in distinct])
    places = tuple(map(distinct.index, numbers))
    return GraphTrace(trace, trace.n_values - before, tuple(leaves), places, outputs)


class _Tree:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.root = CallTrace(None, [], Skeleton(), TracePattern())
        self.n_traces = self.n_all_traces = 0

    def count_trace(self) -> None:
        self.n_traces += 1
        self.n_all_traces += 1
        if self.n_all_traces > _MAX_ALL_STATES:
            self.reset()
        elif self.n_traces > _MAX_STATES:
            self.root = CallTrace(None, [], self.root.skeleton, self.root.pattern)
            self.n_traces = 0


tree = _Tree()


def with_fixed_states(trace: CallTrace) -> CallTrace:
    """Returns the calls as in inference: normalisations take fixed statistics."""

    def find() -> CallTrace:
        result = tree.root
        for call in trace.calls:
            references: list[int | LeafKind] = []
            kinds, new = iter(call.leaves), result.n_values
            for n in call.inputs:
                if n == new:
                    kind = next(kinds)
                    role = Role.CONSTANT if kind.role is Role.STATE else kind.role
                    references.append(leaf_kind(kind.shape, kind.dtype, role))
                    new += 1
                else:
                    references.append(n)
            resolved, train = call.resolved, call.op is call.resolved.op
            if train and resolved.aux:
                resolved = _with_fixed_states(resolved)
            elif _formula_of_batches(resolved):
                resolved = _with_moving_statistics(resolved)
            result = result.after(resolved, train, tuple(references))
        return result

    changes = any(_formula_of_batches(call.resolved) for call in trace.calls)
    changes = changes or any(leaf.role is Role.STATE for leaf in trace.all_leaves)
    return trace.known("fixed states", find) if changes else trace


def _formula_of_batches(resolved: ResolvedCall) -> bool:
    # Also what was recorded in inference, with moving statistics, is differentiated by it.
    return resolved.params.get("use_global_stats") is False


@lru_cache(maxsize=512)
def _with_moving_statistics(resolved: ResolvedCall) -> ResolvedCall:
    params = Params({**resolved.params, "use_global_stats": True})
    return ResolvedCall(resolved.op, resolved.texts, resolved.number_names, params)


@lru_cache(maxsize=512)
def _with_fixed_states(resolved: ResolvedCall) -> ResolvedCall:
    op = resolved.op
    name = op.train_name
    assert name is not None

    def fn(*arrays: Raw, **keywords: Any) -> Tree:
        values = op.fn(*arrays, **keywords, **{name: True})
        if "use_global_stats" in keywords:
            keywords["use_global_stats"] = True
        others = op.fn(*arrays, **keywords, **{name: False})
        # The values of one, and the derivative of the other: zero is added.
        fixed = jax.lax.stop_gradient((values, others))
        return tuple([v + (x - y) for v, x, y in zip(fixed[0], others, fixed[1], strict=True)])

    fixed = replace(op, fn=fn, train_name=None, aux=(), _aux=None)
    return ResolvedCall(fixed, resolved.texts, (), resolved.params)


@lru_cache(maxsize=512)
def in_inference(op: OpDef) -> OpDef:
    name = op.train_name
    if name is None:
        return op

    def fn(*arrays: Raw, **keywords: Any) -> Tree:
        return op.fn(*arrays, **keywords, **{name: False})

    return replace(
        op, fn=fn, train_name=None, aux=(), _aux=None,
        _uses_rng=lambda p, train: op.uses_rng(p, False),
    )  # fmt: skip


@lru_cache(maxsize=512)
def with_number_inputs(resolved: ResolvedCall, names: tuple[str, ...]) -> ResolvedCall:
    op = resolved.op
    inputs = op.inputs(resolved.params)

    def fn(*arrays: Raw, **keywords: Any) -> Tree:
        numbers = dict(zip(names, arrays[len(inputs) :], strict=True))
        params = Params({**keywords, **numbers})
        return op.apply(params, arrays[: len(inputs)])

    changed = replace(
        op,
        fn=fn,
        variadic="arrays",
        count=None,
        infer_shape=None,
        output_shapes=None,
        infer_type=lambda facts, params: None,
        layout_rule=None,
        _inputs=lambda p: (*inputs, *names),
    )
    return ResolvedCall(changed, resolved.texts, ())
