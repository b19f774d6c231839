"""Bodies of loops and branches: a node's subgraphs, as functions that its operator can call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops import OpDef, Params
from ..ops.schema.attrs import Shape
from ._graph import Graph
from ._infer import graph_types, infer
from ._lower import lower


class LoweredBody:
    """A subgraph as a function of its variables, in the order of ``list_inputs``.

    Equal bodies compute the same: they are compared by the structure of their graphs, so that
    attributes which hold them can be keys of caches. Auxiliary states are inputs like any other;
    what an operator would make of them is dropped, as MXNet's loops do.
    """

    __slots__ = ("_places", "_run", "graph", "input_names", "structure")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.structure = graph.structure
        variables = [node for node in graph.nodes if node.op is None]
        self.input_names = tuple(node.name for node in variables)
        place = {node: i for i, node in enumerate(variables)}
        self._places = tuple([place[node] for node in part] for part in (graph.args, graph.aux))
        self._run = lower(graph, reroll=False)

    def __hash__(self) -> int:
        return hash(self.structure)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoweredBody) and self.structure == other.structure

    def __call__(self, arrays: Sequence[Any], key: Any, train: bool) -> tuple[Any, ...]:
        """The body's outputs for arrays in the order of its inputs."""
        arguments, states = self._places
        outputs, _ = self._run(
            [arrays[i] for i in arguments], [arrays[i] for i in states], key, train
        )
        return outputs

    @property
    def states(self) -> tuple[int, ...]:
        """Which of the inputs are auxiliary states."""
        return tuple(sorted(self._places[1]))

    @property
    def last(self) -> tuple[OpDef, Params]:
        """The operator of the first output, and its attributes."""
        head = self.graph.heads[0]
        step = max(
            (s for s in self.graph.steps if s.first_output <= head), key=lambda s: s.first_output
        )
        return step.op, step.params

    def interpret(
        self, inputs: Sequence[Any], call: Callable[[OpDef, Params, list[Any]], tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """The outputs where ``call(operator, attributes, inputs)`` stands for every operator."""
        graph = self.graph
        values: list[Any] = [None] * graph.n_values
        for places, numbers in zip(self._places, (graph.arg_values, graph.aux_values), strict=True):
            for i, number in zip(places, numbers, strict=True):
                values[number] = inputs[i]
        for step in graph.steps:
            results = call(step.op, step.params, [values[i] for i in step.inputs])
            for k, result in enumerate(results[: step.n_outputs]):
                values[step.first_output + k] = result
        return tuple(values[i] for i in graph.heads)

    def __repr__(self) -> str:
        return f"<body of {len(self.graph.steps)} operators>"

    def uses_rng(self, train: bool) -> bool:
        """Whether a run in this mode draws random numbers."""
        return self.graph.uses_rng(train)

    def shapes(self, inputs: Sequence[Shape | None]) -> list[Shape | None]:
        """The shapes of the inputs, as far as they follow from those known."""
        given = {n: s for n, s in zip(self.input_names, inputs, strict=True) if s is not None}
        found = infer(self.graph, given)
        return self._by_input(found.arg_shapes, found.aux_shapes)

    def types(self, inputs: Sequence[str | None]) -> tuple[list[str | None], list[str | None]]:
        """Dtype names of the inputs and of the outputs, as far as they follow."""
        given = {n: t for n, t in zip(self.input_names, inputs, strict=True) if t is not None}
        arguments, outputs, states = graph_types(self.graph, given)
        return self._by_input(arguments, states), outputs

    def _by_input(self, arguments: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        found: list[Any] = [None] * len(self.input_names)
        for places, facts in zip(self._places, (arguments, states), strict=True):
            for i, fact in zip(places, facts, strict=True):
                found[i] = fact
        return found
