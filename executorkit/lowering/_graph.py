"""A symbol's graph with numbers for names: what inference, lowering and programs walk over."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..ops import OpDef, Params
from ..ops.schema.attrs import BODIES
from ..symbol.node import EDIT_HOOKS, Entry, Node, auxiliary_nodes, topological_order


@dataclass(frozen=True, slots=True, eq=False)
class GraphStep:
    """One operator call: which numbered values it reads, and which it writes.

    ``inputs`` and ``first_output`` index the flat list of all values of the graph. ``aux_writes``
    has, for each auxiliary state that changes, its position among the inputs, that of its new value
    among the function's results, and its number in the graph. ``random_number`` counts the
    operators that draw random numbers, so that a pass that drops other nodes does not change what
    they draw.
    """

    node: Node
    op: OpDef
    params: Params
    index: int
    names: tuple[str, ...]
    inputs: tuple[int, ...]
    first_output: int
    n_outputs: int
    aux_writes: tuple[tuple[int, int, int], ...]
    random_number: int


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph in topological order.

    args and aux are the variable nodes, in ``list_arguments`` and ``list_auxiliary_states`` order;
    ``arg_values``/``aux_values``/``heads`` are their and the outputs' places among the values.
    """

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
    #: Results of inference, by what was given; bounded by :func:`memoize`.
    memo: dict[Any, Any] = field(default_factory=dict)

    @property
    def variables(self) -> Iterator[tuple[Node, int]]:
        """Every variable and its place among the values, arguments first."""
        yield from zip(self.args, self.arg_values, strict=True)
        yield from zip(self.aux, self.aux_values, strict=True)

    def uses_rng(self, train: bool) -> bool:
        """Whether a run in this mode draws random numbers, so that it needs a PRNG key."""
        return any(s.op.uses_rng(s.params, train) for s in self.steps)

    @property
    def dynamic_values(self) -> set[int]:
        """The values whose shapes MXNet knows only when it runs."""
        found: set[int] = set()
        for step in self.steps:
            if step.op.dynamic_shape or not found.isdisjoint(step.inputs):
                found.update(range(step.first_output, step.first_output + step.n_outputs))
        return found

    @property
    def structure(self) -> tuple[Any, ...]:
        """What is computed, without names: graphs of one structure are one program."""
        steps = tuple(
            (s.op, s.params.key, s.inputs, s.first_output, s.op.key_name and s.random_number)
            for s in self.steps
        )
        return steps, self.arg_values, self.aux_values, self.heads

    @property
    def arg_names(self) -> list[str]:
        """As ``list_arguments``."""
        return [node.name for node in self.args]

    @property
    def aux_names(self) -> list[str]:
        """As ``list_auxiliary_states``."""
        return [node.name for node in self.aux]

    @property
    def output_names(self) -> list[str]:
        """As ``list_outputs``."""
        return [node.output_names[k] for node, k in self.head_entries]


def memoize(memo: dict[Any, Any], key: Any, value: Any, limit: int = 64) -> Any:
    """Stores a result in a bounded memo (the oldest goes first) and returns it."""
    with _remembering:
        while len(memo) >= limit:
            del memo[next(iter(memo))]
        memo[key] = value
    return value


#: Graphs are traced in several threads.
_remembering = threading.Lock()


@lru_cache(maxsize=512)
def graph_of(heads: tuple[Entry, ...]) -> Graph:
    """The numbered graph of a symbol's heads; built once per list of heads."""
    return _number(heads)


EDIT_HOOKS.append(graph_of.cache_clear)


def _with_bodies(node: Node, params: Params) -> Params:
    """A step's attributes; those of loops and branches hold their bodies, ready to be called."""
    if not node.subgraphs:
        return params
    from ._subgraphs import LoweredBody  # which lowers graphs, and so stands above this module

    bodies = tuple(LoweredBody(graph_of(heads)) for heads in node.subgraphs)
    return Params({**params, BODIES: bodies})


def _has_effects(params: Params) -> bool:
    return any(body.graph.has_effects for body in params.get(BODIES, ()))


def _number(heads: Sequence[Entry]) -> Graph:
    nodes = topological_order(heads)
    auxiliary = auxiliary_nodes(nodes)
    first: dict[Node, int] = {}
    count = 0
    for node in nodes:
        first[node] = count
        count += node.n_outputs
    args = tuple(n for n in nodes if n.op is None and n not in auxiliary)
    aux = tuple(n for n in nodes if n.op is None and n in auxiliary)
    aux_number = {node: i for i, node in enumerate(aux)}
    steps = []
    drawn = 0
    for index, node in enumerate(nodes):
        if node.op is None or node.params is None:
            continue
        names, states = node.input_names, node.aux_names
        written = [
            (position, aux_number.get(node.inputs[position][0]))
            for position, name in enumerate(names)
            if name in states
        ]
        steps.append(
            GraphStep(
                node=node,
                op=node.op,
                params=_with_bodies(node, node.params),
                index=index,
                names=names,
                inputs=tuple(first[child] + k for child, k in node.inputs),
                first_output=first[node],
                n_outputs=node.n_outputs,
                aux_writes=tuple(
                    (position, node.n_outputs + i, number)
                    for i, (position, number) in enumerate(written)
                    if number is not None
                ),
                random_number=drawn,
            )
        )
        drawn += node.op.key_name is not None
    return Graph(
        nodes=tuple(nodes),
        steps=tuple(steps),
        args=args,
        aux=aux,
        arg_values=tuple(first[n] for n in args),
        aux_values=tuple(first[n] for n in aux),
        heads=tuple(first[n] + k for n, k in heads),
        head_entries=tuple(heads),
        n_values=count,
        has_effects=any(s.op.effects or _has_effects(s.params) for s in steps),
        has_open_shapes=any(s.op.open_shape(s.params) is not None for s in steps),
    )
