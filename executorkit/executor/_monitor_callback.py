"""Monitor callbacks: one program that returns every value, reported one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .._support.annotations import Arrays, Operands
from ..context import Context
from ..lowering import Graph, GraphStep
from ..ndarray import NDArray
from ..ops.schema.traits import NAMED_DATA
from ..program import program_for
from ._pending_step import PendingStep

Callback = Callable[[str, NDArray], Any]


@dataclass(frozen=True, slots=True)
class MonitorCallback:
    """Reports the values of a graph's operators to a callback.

    ``graph`` is the graph as the user wrote it, since graph passes drop nodes that a monitor names;
    ``gather`` brings inputs on several devices together on one.
    """

    graph: Graph
    argnums: tuple[int, ...]
    context: Context
    gather: bool
    callback: Callback
    monitor_all: bool

    def observe_forward(self, pending: PendingStep, outputs: Sequence[NDArray]) -> None:
        """Runs forward at once and reports outputs in topological order; with ``monitor_all`` also
        inputs, variables first under their own name."""
        graph = self.graph
        program = program_for(graph, self.argnums)
        values, states = program.observation.forward[pending.train](*self._inputs_of(pending))
        pending.store_outputs(
            [
                jax.device_put(values[i], array.context.device)
                for i, array in zip(graph.heads, outputs, strict=True)
            ],
            states,
        )
        for step in graph.steps:
            node = step.node
            if self.monitor_all:
                inputs = zip(operator_input_names(step), step.inputs, node.inputs, strict=True)
                for name, i, (child, _) in inputs:
                    if child.op is None:
                        self._report(child.name, values[i])
                    self._report(f"{node.name}_{name}", values[i])
            for k, name in enumerate(node.output_names):
                self._report(name, values[step.first_output + k])

    def observe_backward(self, pending: PendingStep, heads: Arrays) -> None:
        observation = program_for(self.graph, self.argnums).observation
        names = observation.input_gradient_names(self.graph)
        gradients = observation.backward[pending.train](*self._inputs_of(pending, heads))
        for name, gradient in zip(names, gradients, strict=True):
            self._report(name, gradient)

    def _inputs_of(self, pending: PendingStep, *heads: Any) -> Operands:
        arrays = (pending.args, pending.aux, pending.key, *heads)
        return jax.device_put(arrays, self.context.device) if self.gather else arrays

    def _report(self, name: str, value: jax.Array) -> None:
        self.callback(name, NDArray.from_jax(value, self.context))


def operator_input_names(step: GraphStep) -> tuple[str, ...]:
    nameless = step.names == ("data",) and NAMED_DATA not in step.op.traits
    return ("input0",) if nameless else step.names
