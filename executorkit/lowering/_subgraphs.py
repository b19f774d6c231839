"""Subgraphs: the bodies of loops and branches as functions that operators can call."""

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
    new values that an operator computes for them are dropped, as MXNet's loops do.
    """

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

    def __call__(self, arrays: Sequence[Any], key: Any, train: bool) -> tuple[Any, ...]:
        """The body's outputs for arrays in the order of its inputs."""
        arguments, states = self._positions
        outputs, _ = self._run(
            [arrays[i] for i in arguments], [arrays[i] for i in states], key, train
        )
        return outputs

    @property
    def states(self) -> tuple[int, ...]:
        """The positions of the inputs that are auxiliary states."""
        return tuple(sorted(self._positions[1]))

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
        arguments, states = ([inputs[i] for i in positions] for positions in self._positions)
        values = dict(self.graph.numbered(arguments, states))
        for step in self.graph.steps:
            results = call(step.op, step.params, [values[i] for i in step.inputs])
            values.update(zip(step.outputs, results, strict=False))
        return tuple(values[i] for i in self.graph.heads)

    def __repr__(self) -> str:
        return f"<body of {len(self.graph.steps)} operators>"

    def uses_rng(self, train: bool) -> bool:
        """True if a run in this mode draws random numbers."""
        return self.graph.uses_rng(train)

    def shapes(self, inputs: Sequence[Shape | None]) -> list[Shape | None]:
        """The shapes of the inputs, as far as they follow from the given ones."""
        shapes = {n: s for n, s in zip(self.input_names, inputs, strict=True) if s is not None}
        inferred = infer(self.graph, shapes)
        return self._by_input(inferred.arg_shapes, inferred.aux_shapes)

    def types(self, inputs: Sequence[str | None]) -> tuple[list[str | None], list[str | None]]:
        """Dtype names of the inputs and of the outputs, as far as they follow."""
        dtypes = {n: t for n, t in zip(self.input_names, inputs, strict=True) if t is not None}
        arguments, outputs, states = graph_types(self.graph, dtypes)
        return self._by_input(arguments, states), outputs

    def _by_input(self, arguments: Sequence[Any], states: Sequence[Any]) -> list[Any]:
        facts: list[Any] = [None] * len(self.input_names)
        for positions, values in zip(self._positions, (arguments, states), strict=True):
            for i, value in zip(positions, values, strict=True):
                facts[i] = value
        return facts
