"""Which values, steps and outputs of a graph take part in the gradients that are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from ..lowering import Graph
from ..lowering._graph import GraphStep


def active_values(graph: Graph, argnums: Sequence[int]) -> list[bool]:
    """For every value, whether it depends on an argument whose gradient is wanted."""
    active_values = [False] * graph.n_values
    for i in argnums:
        active_values[graph.arg_values[i]] = True
    for step in graph.steps:
        if any(active_values[i] for i in step.inputs):
            for k in range(step.n_outputs):
                active_values[step.first_output + k] = True
    return active_values


def on_active_path(step: GraphStep, active_values: Sequence[bool]) -> bool:
    """Whether MXNet runs the step's backward: only then do its auxiliary states change."""
    return active_values[step.first_output]


def may_need_head_gradient(graph: Graph, active_values: Sequence[bool]) -> tuple[bool, ...]:
    """For every output, whether it depends on a wanted argument by a path on which no operator is
    known to ignore the gradient that comes to it."""
    flows = [False] * graph.n_values
    for i in graph.arg_values:
        flows[i] = active_values[i]
    for step in graph.steps:
        open_path = any(flows[i] for i in step.inputs)
        if open_path and not step.op.loss(step.params):
            for k in range(step.n_outputs):
                flows[step.first_output + k] = True
    return tuple(flows[i] for i in graph.heads)


def constant_inputs(graph: Graph, live: Sequence[GraphStep]) -> tuple[tuple[int, float], ...]:
    """(argument position, constant) of the arguments that MXNet overwrites when it runs."""
    position = {value: n for n, value in enumerate(graph.arg_values)}
    found = {}
    for step in live:
        for name, constant in step.op.constant_inputs(step.params).items():
            number = position.get(step.inputs[step.names.index(name)])
            if number is not None:
                found[number] = constant
    return tuple(sorted(found.items()))


def differentiable_inputs(step: GraphStep) -> list[int]:
    """Positions of a step's inputs that are not auxiliary states."""
    auxiliary = step.node.aux_names
    return [k for k, name in enumerate(step.names) if name not in auxiliary]
