"""Search for repeated subgraphs: steps at the same place in every repetition.

A *pack* is one operator in every repetition: a tuple of steps, by number, first repetition first.
The search begins with chains: from a step that multiplies matrices (without one there is nothing to
gain) back along its inputs to the nearest step of the same operator, attributes and shared
parameters, and again along the same path. The other packs grow out of the chain in lock-step, along
consumers and inputs, as long as every repetition has an equal step of its own there.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ...ops.schema.traits import CALLS_PYTHON, DYNAMIC_SHAPE, MATMUL, MUTATES
from .._graph import Graph, GraphStep

Pack = tuple[int, ...]

#: Minimum number of repetitions of a loop.
MIN_REPEATS = 4
#: Maximum number of steps that make a weight out of variables.
_MAX_WEIGHT_STEPS = 16
#: Maximum number of steps visited by one search backwards for the previous repetition.
_MAX_VISITS = 400
#: Maximum number of steps visited by all searches of one graph together.
_MAX_VISITS_PER_GRAPH = 60_000
#: Maximum number of equal steps examined by one search: a repetition may hold several.
_MAX_CANDIDATES = 6


class UseDef:
    """Use-def chains of a graph, and equality of steps. ``producer`` is the step that computes each
    value (None for a variable), ``consumers`` the (step, input position) that read it. ``labels``
    are equal for steps with the same operator and attributes and, where variables are read by many
    such steps, the same variables; None for a step that must stay by itself."""

    def __init__(self, graph: Graph) -> None:
        steps = graph.steps
        self.steps = steps
        self.producer: list[int | None] = [None] * graph.n_values
        self.consumers: list[list[tuple[int, int]]] = [[] for _ in range(graph.n_values)]
        for s, step in enumerate(steps):
            for i in step.outputs:
                self.producer[i] = s
            for position, value in enumerate(step.inputs):
                self.consumers[value].append((s, position))
        self.heads = frozenset(graph.heads)
        self.labels = self._labels()

    def own_variables(self, values: Sequence[int]) -> bool:
        """Returns whether values follow from a variable each: the weights of separate blocks."""
        earlier: set[int] = set()
        for value in values:
            variables = self._variables_of(value)
            if not variables or not earlier.isdisjoint(variables):
                return False
            earlier |= variables
        return True

    def _variables_of(self, value: int) -> set[int] | None:
        variables, pending, steps = set(), [value], 0
        while pending:
            value = pending.pop()
            producer = self.producer[value]
            if producer is None:
                variables.add(value)
                continue
            steps += 1
            if steps > _MAX_WEIGHT_STEPS:
                return None
            pending += self.steps[producer].inputs
        return variables

    def _labels(self) -> list[int | None]:
        calls = [(s.op, s.params.key) if self._may_repeat(s) else None for s in self.steps]
        shared: Counter[Hashable] = Counter(
            (call, read)
            for step, call in zip(self.steps, calls, strict=True)
            for read in enumerate(step.inputs)
            if self.producer[read[1]] is None
        )
        numbers: dict[Hashable, int] = {}
        labels: list[int | None] = []
        for step, call in zip(self.steps, calls, strict=True):
            reads = [r for r in enumerate(step.inputs) if shared[call, r] >= MIN_REPEATS]
            key = (call, len(step.inputs), tuple(reads))
            labels.append(None if call is None else numbers.setdefault(key, len(numbers)))
        return labels

    def _may_repeat(self, step: GraphStep) -> bool:
        # Loops and branches stay by themselves, as do operators that run Python or check values,
        # share an auxiliary state, or have an open shape.
        op = step.op
        return not (
            CALLS_PYTHON in op.traits
            or op.checks_values(step.params)
            or MUTATES in op.traits
            or DYNAMIC_SHAPE in op.traits
            or step.node.subgraphs
            or op.open_shape(step.params) is not None
            or any(len(self.consumers[step.inputs[w.position]]) > 1 for w in step.aux_writes)
        )

    def readers(self, value: int) -> dict[tuple[Any, int], list[int]]:
        readers: dict[tuple[Any, int], list[int]] = defaultdict(list)
        for s, position in self.consumers[value]:
            if self.labels[s] is not None:
                readers[self.labels[s], position].append(s)
        return readers


def multiplies_matrices(step: GraphStep) -> bool:
    return MATMUL in step.op.traits


def candidate_chains(use_def: UseDef, is_packed: Callable[[int], bool]) -> Iterator[Pack]:
    """Yields packs of products, each depending on the one before along the same path: longer ones
    first, rarer operators first, without packed steps."""
    classes: dict[int, list[int]] = defaultdict(list)
    for s, label in enumerate(use_def.labels):
        if label is not None and multiplies_matrices(use_def.steps[s]):
            classes[label].append(s)
    visits = _MAX_VISITS_PER_GRAPH
    for members in sorted(classes.values(), key=len):
        if len(members) < MIN_REPEATS:
            continue
        tried: set[int] = set()
        for last in reversed(members):
            if last in tried or is_packed(last) or visits <= 0:
                continue
            tried.add(last)
            paths, visited = _paths_back(use_def, last)
            visits -= visited
            for path in paths:
                chain = _follow(use_def, last, path, is_packed)
                if len(chain) >= MIN_REPEATS and not is_packed(last):
                    tried.update(chain)
                    yield chain


#: The path from a step back to an earlier one: (input position, label of that input's producer).
_Path = list[tuple[int, int | None]]


def _paths_back(use_def: UseDef, start: int) -> tuple[list[_Path], int]:
    label = use_def.labels[start]
    reached_from: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    paths: list[_Path] = []
    while queue and len(reached_from) < _MAX_VISITS and len(paths) < _MAX_CANDIDATES:
        s = queue.popleft()
        if s != start and use_def.labels[s] == label:
            path: _Path = []
            at = s
            while at != start:
                reader, position = reached_from[at]
                path.append((position, use_def.labels[at]))
                at = reader
            paths.append(path[::-1])
        for position, value in enumerate(use_def.steps[s].inputs):
            producer = use_def.producer[value]
            if producer is not None and producer not in reached_from:
                reached_from[producer] = (s, position)
                queue.append(producer)
    return paths, len(reached_from)


def _follow(use_def: UseDef, last: int, path: _Path, is_packed: Callable[[int], bool]) -> Pack:
    chain = [last]
    while True:
        at = chain[-1]
        for position, label in path:
            producer = use_def.producer[use_def.steps[at].inputs[position]]
            if producer is None or use_def.labels[producer] != label:
                return tuple(chain[::-1])
            at = producer
        if is_packed(at):
            return tuple(chain[::-1])
        chain.append(at)


def grow_packs(use_def: UseDef, seed: Pack, is_packed: Callable[[int], bool]) -> list[Pack]:
    """Yields all packs of a chain, consumers before inputs and earlier steps before later ones: a
    step comes in its own repetition before it can be the input of the next."""
    placed: set[int] = set()
    packs: list[Pack] = []
    forward_heap: list[tuple[int, int]] = []
    backward_heap: list[tuple[int, int]] = []

    def add(pack: Pack) -> None:
        if len(set(pack)) < len(pack) or any(s in placed or is_packed(s) for s in pack):
            return
        placed.update(pack)
        heapq.heappush(forward_heap, (pack[0], len(packs)))
        heapq.heappush(backward_heap, (-pack[0], len(packs)))
        packs.append(pack)

    add(seed)
    while forward_heap or backward_heap:
        if forward_heap:
            neighbours = _consumer_packs(use_def, packs[heapq.heappop(forward_heap)[1]])
        else:
            neighbours = _input_packs(use_def, packs[heapq.heappop(backward_heap)[1]])
        for neighbour in neighbours:
            add(neighbour)
    return packs


def _consumer_packs(use_def: UseDef, pack: Pack) -> Iterator[Pack]:
    # Packs of steps that read a pack's results at the same input. Where several steps of a
    # repetition do, the first ones of all repetitions form a pack, then the second ones, ...
    first, *others = (use_def.steps[s].first_output for s in pack)
    for k in range(use_def.steps[pack[0]].n_outputs):
        first_readers = use_def.readers(first + k)
        if not first_readers:
            continue
        other_readers = [use_def.readers(value + k) for value in others]
        for key, candidates in first_readers.items():
            if all(len(readers.get(key, ())) == len(candidates) for readers in other_readers):
                for i, s in enumerate(candidates):
                    yield (s, *(readers[key][i] for readers in other_readers))


def _input_packs(use_def: UseDef, pack: Pack) -> Iterator[Pack]:
    for values in zip(*(use_def.steps[s].inputs for s in pack), strict=True):
        producers = [p for value in values if (p := use_def.producer[value]) is not None]
        if len(producers) < len(values) or use_def.labels[producers[0]] is None:
            continue
        output = values[0] - use_def.steps[producers[0]].first_output
        if all(
            use_def.labels[p] == use_def.labels[producers[0]]
            and value - use_def.steps[p].first_output == output
            for p, value in zip(producers, values, strict=True)
        ):
            yield tuple(producers)
