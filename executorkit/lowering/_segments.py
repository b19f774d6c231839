"""Cuts of a graph: into segments by device for ``group2ctx``, and into checkpoints for backward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import isqrt
from typing import NamedTuple

import jax

from .._support.annotations import Raw
from ..context import Context
from ..errors import MXNetError
from ..symbol.node import Entry, Node
from ._graph import Graph, GraphStep, written_states
from ._infer import resolved_params
from ._interpreter import BodyWrapper, Key, Observer, StepRunner, ValueStore, walk
from ._numbering import graph_of

# -- by device -------------------------------------------------------------------------------------


def placements(graph: Graph, ctx: Context, group2ctx: Mapping[str, Context]) -> dict[Node, Context]:
    """Returns the context of every node: its ``ctx_group``'s; without one, the context of its first
    placed input, or for a variable of its first consumer; else ``ctx``."""
    placed: dict[Node, Context] = {}
    for node in graph.nodes:
        group = node.attrs.get("__ctx_group__")
        if group is None:
            continue
        if group not in group2ctx:
            problem = f"its ctx_group {group!r} has no context"
            given_by = f"group2ctx with {', '.join(map(repr, group2ctx))}"
            hint = f"add {group!r} to group2ctx"
            raise MXNetError(f"node {node.name!r}", problem, given_by=given_by, hint=hint)
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
    """Consecutive operators in one context as a graph, which draws the whole graph's random
    numbers. ``inputs``, ``aux`` and ``outputs`` are numbers in the whole graph."""

    context: Context
    graph: Graph
    inputs: tuple[int, ...]
    aux: tuple[int, ...]
    outputs: tuple[int, ...]


def device_segments(graph: Graph, placed: Mapping[Node, Context]) -> list[DeviceSegment]:
    """Cuts the graph wherever the next operator in topological order runs in another context."""
    runs: list[tuple[Context, list[Node]]] = []
    for step in graph.steps:
        context = placed[step.node]
        if not runs or runs[-1][0] != context:
            runs.append((context, []))
        runs[-1][1].append(step.node)
    number = dict(graph.variables)
    number.update((s.node, s.first_output) for s in graph.steps)
    readers: dict[Entry, set[Node]] = {}
    for step in graph.steps:
        for entry in step.node.inputs:
            readers.setdefault(entry, set()).add(step.node)
    heads = set(graph.head_entries)
    return [_device_segment(graph, ctx, nodes, number, readers, heads) for ctx, nodes in runs]


def _device_segment(
    graph: Graph,
    context: Context,
    nodes: list[Node],
    number: Mapping[Node, int],
    readers: Mapping[Entry, set[Node]],
    heads: set[Entry],
) -> DeviceSegment:
    members = set(nodes)
    copies: dict[Entry, Entry] = {}
    origin: dict[Node, int] = {}
    for node in nodes:
        inputs = []
        for child, k in node.inputs:
            if (child, k) not in copies:
                attrs = child.attrs if child.op is None else {}
                variable = Node(None, child.output_names[k], attrs)
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
        if (node, k) in heads or readers.get((node, k), set()) - members
    ]
    part = graph_of(tuple(copies[e] for e in leaving))
    if part.uses_rng(train=True):
        numbers = {copies[s.node, 0][0]: s.random_number for s in graph.steps if s.node in members}
        steps = tuple(replace(s, random_number=numbers[s.node]) for s in part.steps)
        part = replace(part, steps=steps)
    aux_number = {value: i for i, value in enumerate(graph.aux_values)}
    return DeviceSegment(
        context=context,
        graph=part,
        inputs=tuple(origin[n] for n in part.args),
        aux=tuple(aux_number[origin[n]] for n in part.aux),
        outputs=tuple(number[node] + k for node, k in leaving),
    )


# -- by checkpoint ---------------------------------------------------------------------------------


class CheckpointSegment(NamedTuple):
    """Consecutive steps whose activations are recomputed together. ``inputs`` and ``outputs``
    number values read from earlier and exported to later steps, ``aux`` the states updated."""

    steps: tuple[GraphStep, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    aux: tuple[int, ...]


@lru_cache(maxsize=64)
def checkpoint_segments(graph: Graph, results: tuple[int, ...]) -> tuple[CheckpointSegment, ...]:
    """Cuts about as many segments as each has steps, where few values cross; ``results`` are read
    last. Storing only crossing values takes memory for about twice the root of the number of steps,
    and one more forward (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016)."""
    last_use = dict.fromkeys(results, len(graph.steps))
    for at, step in reversed(list(enumerate(graph.steps))):
        for i in step.inputs:
            last_use.setdefault(i, at)
    ends, crossing = [], _crossing(graph, last_use)
    size = max(isqrt(len(graph.steps)), 1)
    for ideal in range(size, len(graph.steps) - size // 2, size):
        near = range(ideal - size // 2, ideal + (size + 1) // 2)
        ends.append(min(near, key=lambda end: (crossing[end], abs(end - ideal))))
    bounds = [0, *ends, len(graph.steps)]
    return tuple(
        _checkpoint_segment(graph.steps[start:stop], stop, last_use)
        for start, stop in pairwise(bounds)
    )


def _crossing(graph: Graph, last_use: dict[int, int]) -> list[int]:
    change = [0] * (len(graph.steps) + 2)
    for at, step in enumerate(graph.steps):
        for i in step.outputs:
            change[at + 1] += 1
            change[last_use.get(i, at) + 1] -= 1
    return list(accumulate(change))


def _checkpoint_segment(
    steps: Sequence[GraphStep], stop: int, last_use: dict[int, int]
) -> CheckpointSegment:
    produced = [i for s in steps for i in s.outputs]
    internal = set(produced)
    inputs = {i: None for s in steps for i in s.inputs if i not in internal}
    return CheckpointSegment(
        tuple(steps),
        tuple(inputs),
        tuple(i for i in produced if last_use.get(i, -1) >= stop),
        tuple(sorted(written_states(steps))),
    )


def evaluate_with_checkpoints(
    graph: Graph,
    args: Sequence[jax.Array],
    aux: Sequence[jax.Array],
    key: Key,
    train: bool,
    wrap_body: BodyWrapper,
    observe: Observer | None = None,
    channels_last: bool = False,
    backward_updates: Sequence[GraphStep] = (),
) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    """Computes :func:`evaluate`'s outputs and new auxiliary states, with ``wrap_body``
    (``jax.checkpoint``) around every segment but the last, where the backward pass begins."""
    values = ValueStore(graph.n_values)
    values.update(graph.numbered(args, aux))
    new_aux = list(aux)
    runner = StepRunner(key, train, resolved_params(graph, args, aux), channels_last, observe)
    late = written_states(backward_updates)
    late_inputs = (i for step in backward_updates for i in step.inputs)

    def run(
        segment: CheckpointSegment,
        inputs: Sequence[dict[bool, jax.Array]],
        states: Sequence[jax.Array],
        key: Key,
    ) -> Raw:
        local = ValueStore(graph.n_values)
        for i, exported in zip(segment.inputs, inputs, strict=True):
            local.adopt(i, exported)
        current = dict(zip(segment.aux, states, strict=True))
        walk(segment.steps, partial(replace(runner, key=key), local), current, late)
        return [local.export(i) for i in segment.outputs], [current[n] for n in segment.aux]

    *earlier, last = checkpoint_segments(graph, (*graph.heads, *late_inputs))
    for segment in (*earlier, last):
        part = partial(run, segment)
        outputs, states = (part if segment is last else wrap_body(part))(
            [values.export(i) for i in segment.inputs], [new_aux[n] for n in segment.aux], key
        )
        for i, exported in zip(segment.outputs, outputs, strict=True):
            values.adopt(i, exported)
        for n, state in zip(segment.aux, states, strict=True):
            new_aux[n] = state
    walk(backward_updates, partial(runner.again, values), new_aux)
    return tuple(values[i] for i in graph.heads), tuple(new_aux)
