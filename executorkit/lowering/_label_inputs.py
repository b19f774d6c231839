"""Labels: arguments that only gradients read, and graphs without them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ._graph import Graph, GraphStep


def _read_by_forward(step: GraphStep) -> tuple[int, ...]:
    """The values that a step's outputs depend on."""
    return step.inputs if step.op.unlabeled is None else step.inputs[:1]


def optional_arguments(graph: Graph) -> tuple[str, ...]:
    """The arguments that neither outputs nor new auxiliary states depend on, in the graph's order.

    They are labels, which loss heads read for their gradient, and what labels are computed from.
    """
    needed = set(graph.heads)
    for step in reversed(graph.steps):
        if step.aux_writes or step.op.effects or not needed.isdisjoint(step.outputs):
            needed.update(_read_by_forward(step))
    arguments = zip(graph.args, graph.arg_values, strict=True)
    return tuple(node.name for node, number in arguments if number not in needed)


def without_labels(graph: Graph, absent: Collection[str]) -> Graph:
    """The graph without these optional arguments, and without what is computed from them.

    Loss heads then have no label; computing their gradient raises MXNetError.
    """
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
    remaining = [(node, number) for node, number in arguments if number not in gone]
    return replace(
        graph,
        steps=tuple(steps),
        args=tuple(node for node, _ in remaining),
        arg_values=tuple(number for _, number in remaining),
        memo={},
    )
