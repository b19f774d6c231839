"""Repeated subgraphs of a graph: which steps stand at the same place in every repetition.

A *column* is one operator in every repetition: a tuple of steps, by number, first repetition first.
The search begins with chains: from a step that multiplies matrices (without one there is nothing to
gain) back along its inputs to the nearest step of the same operator, attributes and shared
parameters; the same path, taken again and again, leads through all repetitions. The other columns
grow out of that one in lock-step, along consumers and inputs, as long as every repetition has its
own, equal step there. Names play no part.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

from .._graph import Graph, GraphStep

Column = tuple[int, ...]

#: The fewest repetitions that are rolled.
MIN_REPEATS = 4
#: How many steps one look backwards for the previous repetition may visit; how many all may.
_VISITS = 400
_ALL_VISITS = 60_000
#: How many equal steps it may meet before it gives up: a repetition may hold several.
_CANDIDATES = 6

#: Operators that multiply matrices.
PRODUCTS = frozenset(
    {
        "BilinearSampler", "Convolution", "Deconvolution", "FullyConnected", "RNN", "batch_dot",
        "dot", "_linalg_gemm", "_linalg_gemm2", "_linalg_trmm", "khatri_rao",
        "_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
        "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt",
    }
)  # fmt: skip


class UseDef:
    """Who makes and who reads every value of a graph, and which steps may be alike.

    labels
        equal numbers for steps that compute the same from their inputs: the same operator with the
        same attributes and, where variables are read by many such steps, the same variables. None
        for a step that must stay by itself.
    """

    def __init__(self, graph: Graph) -> None:
        steps = graph.steps
        self.steps = steps
        self.producer: list[int | None] = [None] * graph.n_values
        self.consumers: list[list[tuple[int, int]]] = [[] for _ in range(graph.n_values)]
        for s, step in enumerate(steps):
            for k in range(step.n_outputs):
                self.producer[step.first_output + k] = s
            for position, value in enumerate(step.inputs):
                self.consumers[value].append((s, position))
        self.heads = frozenset(graph.heads)
        self.labels = self._labels()

    def _labels(self) -> list[int | None]:
        calls = [(s.op, s.params.key) if self._may_repeat(s) else None for s in self.steps]
        shared: Counter[Any] = Counter(
            (call, position, value)
            for step, call in zip(self.steps, calls, strict=True)
            for position, value in enumerate(step.inputs)
            if self.producer[value] is None
        )
        numbers: dict[Any, int] = {}
        labels: list[int | None] = []
        for step, call in zip(self.steps, calls, strict=True):
            if call is None:
                labels.append(None)
                continue
            common = tuple(
                (position, value)
                for position, value in enumerate(step.inputs)
                if shared[call, position, value] >= MIN_REPEATS
            )
            key = (call, len(step.inputs), common)
            labels.append(numbers.setdefault(key, len(numbers)))
        return labels

    def _may_repeat(self, step: GraphStep) -> bool:
        """Loops and branches, Python operators, operators whose shape others decide, and those
        that share an auxiliary state stay by themselves."""
        op = step.op
        return not (
            op.effects
            or op.mutates
            or op.dynamic_shape
            or step.node.subgraphs
            or op.open_shape(step.params) is not None
            or any(len(self.consumers[step.inputs[p]]) > 1 for p, *_ in step.aux_writes)
        )

    def readers(self, value: int) -> dict[tuple[Any, int], list[int]]:
        """The steps that read a value, by label and position, those without a label left out."""
        found: dict[tuple[Any, int], list[int]] = defaultdict(list)
        for s, position in self.consumers[value]:
            if self.labels[s] is not None:
                found[self.labels[s], position].append(s)
        return found


def chains(wiring: UseDef, taken: Callable[[int], bool]) -> Iterator[Column]:
    """Columns of products each of which depends on the one before along the same path.

    Longer ones come before shorter ones that begin at the same step, rarer operators first. Steps
    that are ``taken`` when their turn comes are passed over.
    """
    classes: dict[int, list[int]] = defaultdict(list)
    for s, label in enumerate(wiring.labels):
        if label is not None and wiring.steps[s].op.name in PRODUCTS:
            classes[label].append(s)
    visits = _ALL_VISITS
    for members in sorted(classes.values(), key=len):
        if len(members) < MIN_REPEATS:
            continue
        tried: set[int] = set()
        for last in reversed(members):
            if last in tried or taken(last) or visits <= 0:
                continue
            tried.add(last)
            paths, visited = _paths_back(wiring, last)
            visits -= visited
            for path in paths:
                chain = _follow(wiring, last, path, taken)
                if len(chain) >= MIN_REPEATS and not taken(last):
                    tried.update(chain)
                    yield chain


#: The way from a step back to an earlier one: (position of the input, label of what made it) ...
_Path = list[tuple[int, int | None]]


def _paths_back(wiring: UseDef, start: int) -> tuple[list[_Path], int]:
    """Ways from a step back to the nearest steps with its label, and how many were looked at."""
    label = wiring.labels[start]
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    paths: list[_Path] = []
    while queue and len(came) < _VISITS and len(paths) < _CANDIDATES:
        s = queue.popleft()
        if s != start and wiring.labels[s] == label:
            path: _Path = []
            at = s
            while at != start:
                reader, position = came[at]
                path.append((position, wiring.labels[at]))
                at = reader
            paths.append(path[::-1])
        for position, value in enumerate(wiring.steps[s].inputs):
            made = wiring.producer[value]
            if made is not None and made not in came:
                came[made] = (s, position)
                queue.append(made)
    return paths, len(came)


def _follow(wiring: UseDef, last: int, path: _Path, taken: Callable[[int], bool]) -> Column:
    """The steps that are met on walking a path back from ``last`` again and again, first one
    first."""
    chain = [last]
    while True:
        at = chain[-1]
        for position, label in path:
            made = wiring.producer[wiring.steps[at].inputs[position]]
            if made is None or wiring.labels[made] != label:
                return tuple(chain[::-1])
            at = made
        if taken(at):
            return tuple(chain[::-1])
        chain.append(at)


def grow(wiring: UseDef, seed: Column, taken: Callable[[int], bool]) -> list[Column]:
    """All columns that belong to a chain.

    Consumers come before inputs, and earlier steps before later ones: so a step is met in its own
    repetition before it can be met as the input of the next.
    """
    placed: set[int] = set()
    columns: list[Column] = []
    waiting: list[tuple[int, int]] = []
    backwards: list[tuple[int, int]] = []

    def add(column: Column) -> bool:
        if len(set(column)) < len(column):
            return False
        if any(s in placed or taken(s) for s in column):
            return False
        placed.update(column)
        for heap, order in ((waiting, column[0]), (backwards, -column[0])):
            heapq.heappush(heap, (order, len(columns)))
        columns.append(column)
        return True

    add(seed)
    while waiting or backwards:
        if waiting:
            for found in _consumers(wiring, columns[heapq.heappop(waiting)[1]]):
                add(found)
        else:
            for found in _inputs(wiring, columns[heapq.heappop(backwards)[1]]):
                add(found)
    return columns


def _consumers(wiring: UseDef, column: Column) -> Iterator[Column]:
    """Columns of steps that read a column's results alike. Where several steps of a repetition do,
    the first stands beside the first, and so on."""
    first, *others = (wiring.steps[s].first_output for s in column)
    for k in range(wiring.steps[column[0]].n_outputs):
        here = wiring.readers(first + k)
        if not here:
            continue
        rest = [wiring.readers(value + k) for value in others]
        for key, candidates in here.items():
            if all(len(there.get(key, ())) == len(candidates) for there in rest):
                for i, s in enumerate(candidates):
                    yield (s, *(there[key][i] for there in rest))


def _inputs(wiring: UseDef, column: Column) -> Iterator[Column]:
    """Columns of steps that make a column's inputs alike."""
    for values in zip(*(wiring.steps[s].inputs for s in column), strict=True):
        makers = [wiring.producer[value] for value in values]
        if None in makers or wiring.labels[makers[0]] is None:
            continue
        output = values[0] - wiring.steps[makers[0]].first_output
        if all(
            wiring.labels[m] == wiring.labels[makers[0]]
            and value - wiring.steps[m].first_output == output
            for m, value in zip(makers, values, strict=True)
        ):
            yield tuple(makers)
