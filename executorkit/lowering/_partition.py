"""``group2ctx``: which context each node runs in, and the graph cut into per-context segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..context import Context
from ..errors import MXNetError, explain
from ..symbol._node import Entry, Node
from ._graph import Graph, graph_of


def placements(graph: Graph, ctx: Context, group2ctx: Mapping[str, Context]) -> dict[Node, Context]:
    """The context of every node: that of its ``ctx_group``; without one, that of its first placed
    input, or for a variable of its first consumer; else ``ctx``."""
    placed: dict[Node, Context] = {}
    for node in graph.nodes:
        group = node.attrs.get("__ctx_group__")
        if group is None:
            continue
        if group not in group2ctx:
            raise MXNetError(
                explain(
                    f"node {node.name!r}",
                    f"its ctx_group {group!r} has no context",
                    given_by=f"group2ctx with {', '.join(map(repr, group2ctx))}",
                    hint=f"add {group!r} to group2ctx",
                )
            )
        placed[node] = group2ctx[group]
    for step in graph.steps:
        node = step.node
        if node not in placed:
            placed[node] = next((placed[c] for c, _ in node.inputs if c in placed), ctx)
        for child, _ in node.inputs:
            if child.op is None:
                placed.setdefault(child, placed[node])
    for node in graph.nodes:
        placed.setdefault(node, ctx)
    return placed


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSegment:
    """A run of operators in one context, as a graph of its own, whose operators draw the random
    numbers that they draw in the whole graph.

    ``inputs``, ``aux`` and ``outputs`` are the numbers that its arguments, auxiliary states and
    outputs have in the whole graph (values for inputs and outputs).
    """

    context: Context
    graph: Graph
    inputs: tuple[int, ...]
    aux: tuple[int, ...]
    outputs: tuple[int, ...]


def device_segments(graph: Graph, placed: Mapping[Node, Context]) -> list[DeviceSegment]:
    """The graph cut wherever the next operator in topological order runs in another context."""
    runs: list[tuple[Context, list[Node]]] = []
    for step in graph.steps:
        context = placed[step.node]
        if not runs or runs[-1][0] != context:
            runs.append((context, []))
        runs[-1][1].append(step.node)
    number = dict(graph.variables)
    number.update((s.node, s.first_output) for s in graph.steps)
    used_by: dict[Entry, set[Node]] = {}
    for step in graph.steps:
        for entry in step.node.inputs:
            used_by.setdefault(entry, set()).add(step.node)
    shown = set(graph.head_entries)
    return [_cut(graph, context, nodes, number, used_by, shown) for context, nodes in runs]


def _cut(
    graph: Graph,
    context: Context,
    nodes: list[Node],
    number: Mapping[Node, int],
    used_by: Mapping[Entry, set[Node]],
    shown: set[Entry],
) -> DeviceSegment:
    inside = set(nodes)
    copies: dict[Entry, Entry] = {}
    origin: dict[Node, int] = {}
    for node in nodes:
        inputs = []
        for child, k in node.inputs:
            if (child, k) not in copies:
                variable = Node(
                    None, child.output_names[k], child.attrs if child.op is None else {}
                )
                origin[variable] = number[child] + k
                copies[child, k] = (variable, 0)
            inputs.append(copies[child, k])
        copy = Node(node.op, node.name, node.attrs, node.params, tuple(inputs), node.subgraphs)
        for k in range(node.n_outputs):
            copies[node, k] = (copy, k)
    leaving = [
        (node, k)
        for node in nodes
        for k in range(node.n_outputs)
        if (node, k) in shown or used_by.get((node, k), set()) - inside
    ]
    part = graph_of(tuple(copies[e] for e in leaving))
    if part.uses_rng(train=True):
        drawn = {copies[s.node, 0][0]: s.random_number for s in graph.steps if s.node in inside}
        part = replace(
            part, steps=tuple(replace(s, random_number=drawn[s.node]) for s in part.steps)
        )
    aux_number = {value: i for i, value in enumerate(graph.aux_values)}
    return DeviceSegment(
        context=context,
        graph=part,
        inputs=tuple(origin[n] for n in part.args),
        aux=tuple(aux_number[origin[n]] for n in part.aux),
        outputs=tuple(number[node] + k for node, k in leaving),
    )
