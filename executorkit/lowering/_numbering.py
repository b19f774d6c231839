"""Construction of numbered graphs from the heads of a symbol, and of functions from subgraphs."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from .._support.annotations import Operands, Raw
from ..ops import OpDef, Params
from ..ops.schema.attrs import BODIES, Shape
from ..ops.schema.traits import CALLS_PYTHON
from ..symbol.node import EDIT_HOOKS, Entry, Node, auxiliary_nodes, topological_order
from ._graph import Graph, GraphStep, StateWrite
from ._infer import graph_types, infer
from ._lower import lower


@lru_cache(maxsize=512)
def graph_of(heads: tuple[Entry, ...]) -> Graph:
    return _number(heads)


EDIT_HOOKS.append(graph_of.cache_clear)


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
    n_random = 0
    for index, node in enumerate(nodes):
        if node.op is None or node.params is None:
            continue
        names, states, params = node.input_names, node.aux_names, node.params
        if node.subgraphs:
            bodies = tuple(LoweredBody(graph_of(body)) for body in node.subgraphs)
            params = Params({**params, BODIES: bodies})
        written = [
            (position, aux_number.get(node.inputs[position][0]))
            for position, name in enumerate(names)
            if name in states
        ]
        steps.append(
            GraphStep(
                node=node,
                op=node.op,
                params=params,
                index=index,
                names=names,
                inputs=tuple(first[child] + k for child, k in node.inputs),
                first_output=first[node],
                n_outputs=node.n_outputs,
                aux_writes=tuple(
                    StateWrite(position, node.n_outputs + i, number)
                    for i, (position, number) in enumerate(written)
                    if number is not None
                ),
                random_number=n_random,
            )
        )
        n_random += node.op.key_name is not None
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
        has_effects=any(
            CALLS_PYTHON in s.op.traits
            or any(body.graph.has_effects for body in s.params.get(BODIES, ()))
            for s in steps
        ),
        has_open_shapes=any(s.op.open_shape(s.params) is not None for s in steps),
    )


class LoweredBody:
    """A subgraph as a function of its variables, in the order of ``list_inputs``. Bodies compare by
    the structure of their graphs, so that attributes with bodies can be keys of caches. New values
    of auxiliary states are dropped, as MXNet's loops do."""

    __slots__ = ("_positions", "_run", "graph", "input_names", "structure")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.structure = graph.structure
        variables = [node for node in graph.nodes if node.op is None]
        self.input_names = tuple(node.name for node in variables)
        position = {node: i for i, node in enumerate(variables)}
        self._positions = tuple([position[n] for n in part] for part in (graph.args, graph.aux))
        self._run = lower(graph, reroll=False)

    def __hash__(self) -> int:
        return hash(self.structure)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoweredBody) and self.structure == other.structure

    def __call__(self, arrays: Sequence[object], key: object, train: bool) -> Operands:
        args, aux = ([arrays[i] for i in part] for part in self._positions)
        return self._run(args, aux, key, train)[0]

    @property
    def states(self) -> tuple[int, ...]:
        return tuple(sorted(self._positions[1]))

    @property
    def last(self) -> tuple[OpDef, Params]:
        head = self.graph.heads[0]
        steps = (s for s in self.graph.steps if s.first_output <= head)
        step = max(steps, key=lambda s: s.first_output)
        return step.op, step.params

    def interpret(
        self, inputs: Sequence[object], call: Callable[[OpDef, Params, list[Any]], Operands]
    ) -> Operands:
        arguments, states = ([inputs[i] for i in positions] for positions in self._positions)
        values = dict(self.graph.numbered(arguments, states))
        for step in self.graph.steps:
            results = call(step.op, step.params, [values[i] for i in step.inputs])
            values.update(zip(step.outputs, results, strict=False))
        return tuple(values[i] for i in self.graph.heads)

    def __repr__(self) -> str:
        return f"<body of {len(self.graph.steps)} operators>"

    def uses_rng(self, train: bool) -> bool:
        return self.graph.uses_rng(train)

    def shapes(self, inputs: Sequence[Shape | None]) -> list[Shape | None]:
        shapes = {n: s for n, s in zip(self.input_names, inputs, strict=True) if s is not None}
        inferred = infer(self.graph, shapes)
        return self._by_input(inferred.arg_shapes, inferred.aux_shapes)

    def types(self, inputs: Sequence[str | None]) -> tuple[list[str | None], list[str | None]]:
        dtypes = {n: t for n, t in zip(self.input_names, inputs, strict=True) if t is not None}
        arguments, outputs, states = graph_types(self.graph, dtypes)
        return self._by_input(arguments, states), outputs

    def _by_input(self, arguments: Sequence[object], states: Sequence[object]) -> list[Raw]:
        facts: list[Any] = [None] * len(self.input_names)
        for positions, values in zip(self._positions, (arguments, states), strict=True):
            for i, value in zip(positions, values, strict=True):
                facts[i] = value
        return facts
