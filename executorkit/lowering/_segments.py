"""A graph cut into segments, so that backward can compute one of them again at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

from ._graph import Graph, GraphStep
from ._lower import resolved_params
from ._reroll_run import BodyWrapper
from ._step import Observer, run_step
from ._values import Values


class CheckpointSegment(NamedTuple):
    """Consecutive steps, with the values that they take from before and hand on (numbers of the
    graph's values), and the auxiliary states that they change."""

    steps: tuple[GraphStep, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    aux: tuple[int, ...]


@lru_cache(maxsize=64)
def checkpoint_segments(graph: Graph) -> tuple[CheckpointSegment, ...]:
    """About as many segments as each has steps, cut where few values cross.

    Keeping only what crosses then takes memory for about twice the root of the number of steps,
    and one more forward. Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
    """
    last_use = dict.fromkeys(graph.heads, len(graph.steps))
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
        _segment(graph.steps[start:stop], stop, last_use) for start, stop in pairwise(bounds)
    )


def _crossing(graph: Graph, last_use: dict[int, int]) -> list[int]:
    """For every place between two steps, how many values of steps before are used after it."""
    change = [0] * (len(graph.steps) + 2)
    for at, step in enumerate(graph.steps):
        for k in range(step.n_outputs):
            last = last_use.get(step.first_output + k, at)
            change[at + 1] += 1
            change[last + 1] -= 1
    found, now = [], 0
    for c in change:
        now += c
        found.append(now)
    return found


def _segment(steps: Sequence[GraphStep], stop: int, last_use: dict[int, int]) -> CheckpointSegment:
    made = [s.first_output + k for s in steps for k in range(s.n_outputs)]
    own = set(made)
    used = {i: None for s in steps for i in s.inputs if i not in own}
    return CheckpointSegment(
        tuple(steps),
        tuple(used),
        tuple(i for i in made if last_use.get(i, -1) >= stop),
        tuple(sorted({n for s in steps for *_, n in s.aux_writes})),
    )


def evaluate_with_checkpoints(
    graph: Graph,
    args: Sequence[Any],
    aux: Sequence[Any],
    key: Any,
    train: bool,
    wrap_body: BodyWrapper,
    observe: Observer | None = None,
    channels_last: bool = False,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The outputs and the new auxiliary states, every segment called as ``around`` makes it, but
    for the last one: backward begins with it."""
    values = Values(graph.n_values)
    for i, array in zip((*graph.arg_values, *graph.aux_values), (*args, *aux), strict=True):
        values[i] = array
    new_aux = list(aux)
    filled = resolved_params(graph, args, aux) if graph.has_open_shapes else {}

    def run(
        segment: CheckpointSegment, inputs: Sequence[Any], states: Sequence[Any], key: Any
    ) -> Any:
        own = Values(graph.n_values)
        for i, export in zip(segment.inputs, inputs, strict=True):
            own.take(i, export)
        changed = dict(zip(segment.aux, states, strict=True))
        for step in segment.steps:
            now = {position: changed[number] for position, _, number in step.aux_writes}
            results = run_step(
                step, own, now, key, train, filled.get(step.index), channels_last, observe
            )
            changed.update((number, results[at]) for _, at, number in step.aux_writes)
        return [own.export(i) for i in segment.outputs], [changed[n] for n in segment.aux]

    *before, last = checkpoint_segments(graph)
    for segment in (*before, last):
        part = partial(run, segment)
        made, states = (part if segment is last else wrap_body(part))(
            [values.export(i) for i in segment.inputs], [new_aux[n] for n in segment.aux], key
        )
        for i, export in zip(segment.outputs, made, strict=True):
            values.take(i, export)
        for n, state in zip(segment.aux, states, strict=True):
            new_aux[n] = state
    return tuple(values[i] for i in graph.heads), tuple(new_aux)
