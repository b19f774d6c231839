"""Order in which MXNet's backward pass updates the auxiliary states that several operators share.

MXNet's gradient graph is visited depth first from the gradients that are requested. An operator's
backward comes behind those of the operators that read its outputs, later readers before earlier
ones. Each updates the operator's states in turn, while forward reads all of them as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ops.schema.traits import CALLS_PYTHON
from ._graph import Graph, GraphStep


def shared_state_updates(graph: Graph, argnums: Sequence[int]) -> tuple[GraphStep, ...]:
    """The operators that update a state in backward which another one updates too, in the order of
    MXNet's backward for gradients of these arguments. Empty for nearly all graphs."""
    writers: dict[int, list[GraphStep]] = {}
    for step in graph.steps:
        for write in step.aux_writes:
            writers.setdefault(write.state, []).append(step)
    sharing = {
        step.index
        for steps in writers.values()
        if len(steps) > 1 and not any(CALLS_PYTHON in s.op.traits for s in steps)
        for step in steps
    }
    if not sharing:
        return ()
    return tuple(s for s in _backward_order(graph, argnums) if s.index in sharing)


def _backward_order(graph: Graph, argnums: Sequence[int]) -> Iterator[GraphStep]:
    """The operators whose backward is run, in MXNet's order."""
    readers: dict[int, list[GraphStep]] = {}
    for step in reversed(graph.steps):
        states = {write.position for write in step.aux_writes}
        for k, value in enumerate(step.inputs):
            if k not in states:
                readers.setdefault(value, []).append(step)

    def above(step: GraphStep) -> Iterator[GraphStep]:
        """The operators whose backward computes the gradients of a step's outputs."""
        if not step.op.loss(step.params):
            for number in step.outputs:
                yield from readers.get(number, ())

    visited: set[int] = set()
    for i in argnums:
        pending = [iter(readers.get(graph.arg_values[i], ()))]
        path: list[GraphStep] = []
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                if path:
                    yield path.pop()
            elif step.index not in visited:
                visited.add(step.index)
                path.append(step)
                pending.append(above(step))
