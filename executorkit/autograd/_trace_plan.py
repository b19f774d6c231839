"""Plans: how a trace runs as one program, or as two where a part of it stays differentiable."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..lowering import graph_of, infer, optimized
from ..ops import lookup
from ..program import Program, program_for, retain_freed_memory
from ..symbol.node import Entry, Node
from ._tape_segment import Reached
from ._trace import DIFFERENTIATED, CallTrace, Role


@dataclass(slots=True, eq=False)
class TracePlan:
    """A program for calls of a trace; ``outputs`` are the numbers of the values that it returns."""

    program: Program
    outputs: tuple[int, ...]
    #: The source of each argument and auxiliary state: the position of a leaf, or ``~n`` for value
    #: n of another part of the trace.
    sources: tuple[int, ...]
    state_sources: tuple[int, ...]
    #: The positions of the differentiated leaves, in the program's order; whether to add gradients.
    leaves: tuple[int, ...]
    accumulate: tuple[bool, ...]
    #: Each random operator's position among the draws of the segment; None without a draw.
    key_rows: tuple[int | None, ...]


class Split(NamedTuple):
    """A backward in two parts: the first can still be differentiated, the second is used up."""

    first: TracePlan
    second: TracePlan


class TraceNodes:
    def __init__(self, trace: CallTrace, calls: Iterable[CallTrace]) -> None:
        self.sources: dict[Node, int] = {}
        #: The draws that nodes stand for.
        self.draws: dict[Node, int] = {}
        self._positions = {number: i for i, number in enumerate(trace.leaf_numbers)}
        self._entries: dict[int, Entry] = {}
        for call in calls:
            inputs = tuple([self.entry(n) for n in call.inputs])
            texts = dict(call.resolved.texts)
            node = Node(call.op, f"node{call.n_calls}", texts, call.resolved.params, inputs)
            self._entries.update((n, (node, k)) for k, n in enumerate(call.outputs))
            if call.draws:
                self.draws[node] = call.n_draws - 1

    def entry(self, number: int) -> Entry:
        """Returns the entry of a value or its variable; ``~n`` without a gradient."""
        known = self._entries.get(number)
        if known is not None:
            return known
        if number < 0:
            block = lookup("BlockGrad")
            assert block is not None
            node = Node(block, f"constant{~number}", {}, block.parse({}), (self.entry(~number),))
        else:
            position = self._positions.get(number)
            node = Node(None, f"value{number}", {})
            self.sources[node] = ~number if position is None else position
        self._entries[number] = node, 0
        return node, 0


def reached(trace: CallTrace, heads: tuple[int, ...]) -> Reached:
    return trace.pattern.known(("reached", heads), lambda: _reached(trace, heads))


def _reached(trace: CallTrace, heads: tuple[int, ...]) -> Reached:
    values, written = set(heads), set()
    for call in reversed(trace.calls):
        if not values.isdisjoint(call.outputs):
            values.update(call.outputs)
            states = _states_of(call)
            written.update(states)
            values.update(n for n in call.inputs if n >= 0 and n not in states)
    numbers = trace.leaf_numbers
    kinds = zip(numbers, trace.all_leaves, strict=True)
    leaves = [i for i, (n, k) in enumerate(kinds) if n in values and k.role in DIFFERENTIATED]
    positions = frozenset(i for i, n in enumerate(numbers) if n in written)
    return Reached(frozenset(values.difference(numbers)), tuple(leaves), positions)


def _states_of(call: CallTrace) -> frozenset[int]:
    states = call.op.aux_of(call.resolved.params)
    if not states:
        return frozenset()
    names = call.op.inputs(call.resolved.params)
    return frozenset(n for n, name in zip(call.inputs, names, strict=True) if name in states)


def plan_of(
    trace: CallTrace, calls: Sequence[CallTrace], outputs: Sequence[int], leaves: Collection[int]
) -> TracePlan:
    nodes = TraceNodes(trace, calls)
    graph = graph_of(optimized(tuple([nodes.entry(n) for n in outputs])))
    sources = {node.name: source for node, source in nodes.sources.items()}
    args = tuple([sources[name] for name in graph.arg_names])
    argnums = tuple([i for i, source in enumerate(args) if source in leaves])
    kinds = trace.all_leaves
    draws = {node.name: row for node, row in nodes.draws.items()}
    types = {name: trace.type_of(_number(trace, source)) for name, source in sources.items()}
    if all(shape and math.prod(shape) for shape, _ in types.values()):
        shapes = {name: shape for name, (shape, _) in types.items()}
        dtypes = {name: dtype.name for name, (_, dtype) in types.items()}
        retain_freed_memory(graph, infer(graph, shapes, dtypes))
    return TracePlan(
        program=program_for(graph, argnums),
        outputs=tuple(outputs),
        sources=args,
        state_sources=tuple([sources[name] for name in graph.aux_names]),
        leaves=tuple([args[i] for i in argnums]),
        accumulate=tuple([kinds[args[i]].role is Role.ADD for i in argnums]),
        key_rows=tuple([draws.get(s.node.name) for s in graph.steps if s.op.key_name is not None]),
    )


def serves_any_sizes(trace: CallTrace) -> bool:
    """Returns whether programs of these calls on other sizes are traced for all sizes."""
    plans = [p for p in trace.pattern.plans if isinstance(p, TracePlan)]
    return any(plan.program.serves_any_sizes for plan in plans)


def _number(trace: CallTrace, source: int) -> int:
    return trace.leaf_numbers[source] if source >= 0 else ~source


def reading_plan(trace: CallTrace, outputs: tuple[int, ...]) -> TracePlan:
    """Returns the plan of a whole trace whose values are read before backward."""

    def find() -> TracePlan:
        return plan_of(trace, trace.calls, outputs, reached(trace, outputs).leaves)

    return trace.pattern.known(("read", outputs), find)


def backward_plan(
    trace: CallTrace, alive: tuple[int, ...], heads: tuple[int, ...], leaves: tuple[int, ...] | None
) -> TracePlan | Split | None:
    """Returns the plan of a backward that uses the trace up; ``alive`` values have arrays,
    ``leaves`` None means all reached. None if used-up values computed differentiable ones."""
    key = "backward", alive, heads, leaves
    return trace.pattern.known(key, lambda: _backward_plan(trace, alive, heads, leaves))


def _backward_plan(
    trace: CallTrace, alive: tuple[int, ...], heads: tuple[int, ...], leaves: Any
) -> TracePlan | Split | None:
    used = reached(trace, heads)
    stays_open = [
        n
        for n in alive
        if n not in used.values
        and (upstream := reached(trace, (n,))).leaves
        and used.values.isdisjoint(upstream.values)
    ]
    outputs = tuple(dict.fromkeys((*alive, *heads)))
    requested = used.leaves if leaves is None else leaves
    if not stays_open:
        if _leaves_states(trace.calls, used):
            return None
        return plan_of(trace, trace.calls, outputs, requested)
    first = trace.calls_for(stays_open)
    apart = set(first)
    others = [call for call in trace.calls if call not in apart]
    computed = {n for call in first for n in call.outputs}
    if not used.values.isdisjoint(computed) or _leaves_states(others, used):
        return None
    read = {n if n >= 0 else ~n for call in others for n in call.inputs}
    first_outputs = [n for n in outputs if n in computed]
    first_outputs += sorted((computed & read).difference(first_outputs))
    differentiated = reached(trace, tuple(stays_open)).leaves
    return Split(
        plan_of(trace, first, first_outputs, differentiated),
        plan_of(trace, others, [n for n in outputs if n not in computed], requested),
    )


def _leaves_states(calls: Iterable[CallTrace], used: Reached) -> bool:
    return any(_states_of(c) and used.values.isdisjoint(c.outputs) for c in calls)
