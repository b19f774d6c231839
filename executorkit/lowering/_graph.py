"""Numbered graphs: a symbol's operators and values in topological order, addressed by number."""

import threading
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ..ops import OpDef, Params
from ..ops.schema.attrs import BODIES
from ..ops.schema.traits import CALLS_PYTHON, CONVOLUTION, DYNAMIC_SHAPE
from ..symbol.node import Entry, Node


class StateWrite(NamedTuple):
    """An auxiliary state that a step changes: places among inputs and results, and its number."""

    position: int
    result: int
    state: int


@dataclass(frozen=True, slots=True, eq=False)
class GraphStep:
    """One operator call, with the numbers of its values. ``random_number`` counts earlier random
    operators, so that dropping other nodes changes no draw."""

    node: Node
    op: OpDef
    params: Params
    index: int
    names: tuple[str, ...]
    inputs: tuple[int, ...]
    first_output: int
    n_outputs: int
    aux_writes: tuple[StateWrite, ...]
    random_number: int

    @property
    def outputs(self) -> range:
        return range(self.first_output, self.first_output + self.n_outputs)


def written_states(steps: Iterable[GraphStep]) -> set[int]:
    return {write.state for step in steps for write in step.aux_writes}


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph in topological order. ``args`` and ``aux`` are variable nodes; ``arg_values``,
    ``aux_values`` and ``heads`` are numbers of values. ``memo`` holds results of inference, bounded
    by :func:`memoize`."""

    nodes: tuple[Node, ...]
    steps: tuple[GraphStep, ...]
    args: tuple[Node, ...]
    aux: tuple[Node, ...]
    arg_values: tuple[int, ...]
    aux_values: tuple[int, ...]
    heads: tuple[int, ...]
    head_entries: tuple[Entry, ...]
    n_values: int
    has_effects: bool
    has_open_shapes: bool
    memo: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def convolved(self) -> frozenset[int]:
        """The values that convolutions read as their data."""
        return frozenset(s.inputs[0] for s in self.steps if CONVOLUTION in s.op.traits)

    @property
    def variables(self) -> Iterator[tuple[Node, int]]:
        yield from zip(self.args, self.arg_values, strict=True)
        yield from zip(self.aux, self.aux_values, strict=True)

    def numbered(self, args: Iterable[object], aux: Iterable[object]) -> Iterator[tuple[int, Any]]:
        yield from zip(self.arg_values, args, strict=True)
        yield from zip(self.aux_values, aux, strict=True)

    def uses_rng(self, train: bool) -> bool:
        return any(s.op.uses_rng(s.params, train) for s in self.steps)

    @property
    def checks_values(self) -> bool:
        return any(
            s.op.checks_values(s.params)
            or any(body.graph.checks_values for body in s.params.get(BODIES, ()))
            for s in self.steps
        )

    @property
    def dynamic_values(self) -> set[int]:
        """The values whose shapes MXNet knows only when it runs."""
        dynamic: set[int] = set()
        for step in self.steps:
            if DYNAMIC_SHAPE in step.op.traits or not dynamic.isdisjoint(step.inputs):
                dynamic.update(step.outputs)
        return dynamic

    @property
    def structure(self) -> tuple[Any, ...]:
        """The computation without names: graphs of one structure are one program."""
        steps = tuple(
            (s.op, s.params.key, s.inputs, s.first_output, s.op.key_name and s.random_number)
            for s in self.steps
        )
        return steps, self.arg_values, self.aux_values, self.heads

    @property
    def arg_names(self) -> list[str]:
        return [node.name for node in self.args]

    @property
    def aux_names(self) -> list[str]:
        return [node.name for node in self.aux]

    @property
    def output_names(self) -> list[str]:
        return [node.output_names[k] for node, k in self.head_entries]


class Signature:
    """A graph's structure as a value with one hash, equal for equal computations."""

    __slots__ = ("_hash", "content")

    def __init__(self, graph: Graph) -> None:
        self.content = graph.structure
        self._hash = hash(self.content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Signature)
            and self._hash == other._hash
            and self.content == other.content
        )


@lru_cache(maxsize=512)
def signature_of(graph: Graph) -> Signature:
    return Signature(graph)


# -- labels ----------------------------------------------------------------------------------------


def _read_by_forward(step: GraphStep) -> tuple[int, ...]:
    return step.inputs if step.op.unlabeled is None else step.inputs[:1]


def optional_arguments(graph: Graph) -> tuple[str, ...]:
    """Returns arguments that no output or new state depends on: labels, and their sources."""
    needed = set(graph.heads)
    for step in reversed(graph.steps):
        runs_python = CALLS_PYTHON in step.op.traits
        if step.aux_writes or runs_python or not needed.isdisjoint(step.outputs):
            needed.update(_read_by_forward(step))
    arguments = zip(graph.args, graph.arg_values, strict=True)
    return tuple(node.name for node, number in arguments if number not in needed)


def without_labels(graph: Graph, absent: Collection[str]) -> Graph:
    """Removes optional arguments and their values; gradients of loss heads raise MXNetError."""
    arguments = list(zip(graph.args, graph.arg_values, strict=True))
    gone = {number for node, number in arguments if node.name in absent}
    steps = []
    for step in graph.steps:
        if not gone.isdisjoint(_read_by_forward(step)):
            gone.update(step.outputs)
        elif gone.isdisjoint(step.inputs) or step.op.unlabeled is None:
            steps.append(step)
        else:
            names, inputs = step.names[:1], step.inputs[:1]
            steps.append(replace(step, op=step.op.unlabeled, names=names, inputs=inputs))
    remaining = {node: number for node, number in arguments if number not in gone}
    args, arg_values = tuple(remaining), tuple(remaining.values())
    return replace(graph, steps=tuple(steps), args=args, arg_values=arg_values, memo={})


# -- memos -----------------------------------------------------------------------------------------


def memoize(memo: dict[Any, Any], key: object, value: object, limit: int = 64) -> Any:
    """Stores a result in a bounded memo (the oldest goes first) and returns it."""
    with _memo_lock:
        while len(memo) >= limit:
            memo.pop(next(iter(memo), None), None)  # a freed array may have dropped it meanwhile
        memo[key] = value
    return value


#: Graphs are traced in several threads.
_memo_lock = threading.RLock()
