"""Columns as a loop or a batch: whether they can be one, and whether they should.

The repetitions of a graph, folded into one.

Every column (one operator in all repetitions) becomes one vertex of the graph. Columns on a cycle
then are a recurrence, a :class:`Loop`. The others do not depend on an earlier repetition: each is a
:class:`Batch`, such as the product of all inputs of a recurrent layer with its weight. All other
steps stay as they are, and so does whatever does not fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from .._graph import Graph, GraphStep
from .fuse import fusion_may_pay, join
from .graph_algorithms import strongly_connected_components, topological
from .ir import Batch, Link, Loop, Plan, Values
from .search import MIN_REPEATS, PRODUCTS, Column, UseDef, chains, grow

#: For every step that is part of a column: the column and the repetition.
Places = Mapping[int, tuple[int, int]]


def is_vectorizable(wiring: UseDef, column: Column) -> bool:
    """Whether an operator may be run for all repetitions at once.

    Products with a weight of their own in every repetition are not: batched products of small
    matrices are slow, batched convolutions slower.
    """
    steps = [wiring.steps[s] for s in column]
    op = steps[0].op
    varying = [
        values for values in zip(*(s.inputs for s in steps), strict=True) if len(set(values)) > 1
    ]
    if not varying:
        return op.key_name is not None
    own = any(wiring.producer[v] is None for values in varying for v in values)
    return not (op.name in PRODUCTS and len(varying) > 1 and own)


def loop_of(wiring: UseDef, cycle: Mapping[int, Column], place: Places) -> Loop | None:
    """Columns, by number, as a loop, or None if they cannot be run turn by turn, or should not."""
    members = sorted(cycle, key=lambda c: cycle[c][0])
    at = {c: i for i, c in enumerate(members)}
    columns = [[wiring.steps[s] for s in cycle[c]] for c in members]
    links = []
    for column in columns:
        inputs = zip(*(step.inputs for step in column), strict=True)
        row = [_link(wiring, values, at, place) for values in inputs]
        if None in row:
            return None
        links.append([link for link in row if link is not None])
    backs = {link.back for row in links for link in row}
    if min(backs) < 0 < max(backs):
        return None
    if min(backs) < 0:
        columns = [column[::-1] for column in columns]
        links = [[Link(x.values[::-1], x.made, -x.back) for x in row] for row in links]
    return _shown(wiring, columns, links) if _pays(columns, links, wiring) else None


def _link(wiring: UseDef, values: Values, at: Mapping[int, int], place: Places) -> Link | None:
    """One input of all repetitions, seen from inside a loop of columns; None if it is made in the
    loop, but not by one column in one order."""
    made: set[tuple[int, int]] = set()
    backs: set[int] = set()
    inside = []
    for k, value in enumerate(values):
        maker = wiring.producer[value]
        if maker is None or maker not in place or place[maker][0] not in at:
            continue
        column, turn = place[maker]
        made.add((at[column], value - wiring.steps[maker].first_output))
        backs.add(k - turn)
        inside.append(k)
    if not inside:
        return Link(values)
    if len(made) > 1 or len(backs) > 1:
        return None
    (back,), (maker,) = backs, made
    turns = range(max(back, 0), len(values) + min(back, 0))
    return Link(values, maker, back) if inside == list(turns) else None


def _shown(wiring: UseDef, columns: list[list[GraphStep]], links: list[list[Link]]) -> Loop:
    """A loop, with what is read outside of it."""
    own = {step.index for column in columns for step in column}
    carried = {link.made for row in links for link in row if link.back == 1}
    shown, last = [], []
    for c, column in enumerate(columns):
        for k in range(column[0].n_outputs):
            values = [step.first_output + k for step in column]
            read = [
                value in wiring.heads
                or any(wiring.steps[s].index not in own for s, _ in wiring.consumers[value])
                for value in values
            ]
            if (c, k) in carried and not any(read[:-1]):
                last += [(c, k)] * read[-1]
            elif any(read):
                shown.append((c, k))
    return Loop(
        columns=tuple(map(tuple, columns)),
        links=tuple(map(tuple, links)),
        shown=tuple(shown),
        last=tuple(last),
    )


def _pays(columns: list[list[GraphStep]], links: list[list[Link]], wiring: UseDef) -> bool:
    """Whether a loop is worth its turns: it multiplies matrices, by weights that all share.

    Blocks with weights of their own, stacked for the loop, run slower than one by one, and compile
    no faster (measured on two x86-64 cores, training and inference, rolled / unrolled: 50 dense
    layers of 256, 1.4 and 1.2; 12 transformer layers of 256, 1.2 and 1.3; the five equal blocks of
    a stage of ResNet-50, 3.2 and 3.6 for the whole network).
    """
    products = [i for i, column in enumerate(columns) if column[0].op.name in PRODUCTS]
    own = any(
        link.stacked and any(wiring.producer[v] is None for v in link.values)
        for i in products
        for link in links[i]
    )
    return bool(products) and not own


#: How many chains are tried in a graph.
_TRIALS = 32


def plan_of(graph: Graph) -> Plan | None:
    """The plan of a graph, or None if nothing in it is rolled; found once per graph."""
    return _plans_of(graph)[0]


def fused_plan_of(graph: Graph) -> Plan | None:
    """The plan in which loops that feed each other are one; None if there are none."""
    return _plans_of(graph)[1]


@lru_cache(maxsize=512)
def _plans_of(graph: Graph) -> tuple[Plan | None, Plan | None]:
    """A chain that is no recurrence as a whole may be one without its first or last repetition,
    which often lacks an input or a consumer."""
    if graph.has_effects or len(graph.steps) < 2 * MIN_REPEATS:
        return None, None
    folding = GraphFolding(graph)
    left = _TRIALS
    for chain in chains(folding.wiring, folding.taken):
        for first, dropped in ((0, 0), (1, 0), (0, 1), (1, 1)):
            part = chain[first : len(chain) - dropped]
            left -= 1
            if len(part) >= MIN_REPEATS and left >= 0 and folding.fold(part):
                break
    if not folding.loops:
        return None, None
    plan = folding.plan()
    return plan, folding.plan() if fusion_may_pay() and join(folding) else None


class GraphFolding:
    """A graph whose columns are folded into one vertex each, as they are accepted."""

    def __init__(self, graph: Graph) -> None:
        self.wiring = UseDef(graph)
        self.columns: list[Column] = []
        #: For every step that is part of a column: the column and the repetition.
        self.place: dict[int, tuple[int, int]] = {}
        #: The loops, each with the numbers of its columns.
        self.loops: list[tuple[list[int], Loop]] = []
        self._orders = _orders_of_writers(graph)

    def taken(self, step: int) -> bool:
        return step in self.place

    def fold(self, seed: Column) -> bool:
        """Whether a chain and what grows out of it hold a recurrence through the chain; if so,
        they are kept."""
        start = len(self.columns)
        columns = grow(self.wiring, seed, self.taken)
        while True:
            self._add(columns)
            successors = self.successors()
            cycles = [
                c
                for c in strongly_connected_components(successors)
                if len(c) > 1 or c[0] in successors[c[0]]
            ]
            loops = [(cycle, self.loop(cycle)) for cycle in cycles]
            bad = {v for cycle, loop in loops if loop is None for v in cycle}
            inside = {v for cycle in cycles for v in cycle}
            bad.update(
                c
                for c in range(start, len(self.columns))
                if c not in inside and not is_vectorizable(self.wiring, self.columns[c])
            )
            if start in inside and not any(start <= v < len(self.columns) for v in bad):
                self.loops = [(cycle, loop) for cycle, loop in loops if loop is not None]
                return True
            self._remove(start)
            if start in bad or start not in inside:
                return False
            columns = [column for c, column in enumerate(columns, start) if c not in bad]

    def _add(self, columns: Iterable[Column]) -> None:
        for column in columns:
            self.place.update((s, (len(self.columns), k)) for k, s in enumerate(column))
            self.columns.append(column)

    def _remove(self, start: int) -> None:
        for column in self.columns[start:]:
            for s in column:
                del self.place[s]
        del self.columns[start:]

    def _vertex(self, step: int) -> int:
        """The column that a step is part of, or a number of its own behind all columns."""
        return self.place[step][0] if step in self.place else len(self.columns) + step

    def successors(self) -> dict[int, set[int]]:
        """Which vertices read what a vertex makes."""
        vertices = [self._vertex(s) for s in range(len(self.wiring.steps))]
        found: dict[int, set[int]] = {v: set() for v in vertices}
        for here, step in zip(vertices, self.wiring.steps, strict=True):
            for value in step.inputs:
                made = self.wiring.producer[value]
                if made is not None:
                    found[vertices[made]].add(here)
        for before, after in self._orders:
            found[vertices[before]].add(vertices[after])
        return found

    def loop(self, cycle: list[int]) -> Loop | None:
        """A cycle as a loop, or None if it cannot be run turn by turn, or should not."""
        if max(cycle) >= len(self.columns):
            return None
        return loop_of(self.wiring, {c: self.columns[c] for c in cycle}, self.place)

    def plan(self) -> Plan:
        """The plan: what is earliest in the graph comes first where there is a choice."""
        loop_of = {c: cycle[0] for cycle, _ in self.loops for c in cycle}
        items: dict[int, GraphStep | Batch | Loop] = {cycle[0]: loop for cycle, loop in self.loops}
        rank: dict[int, int] = {}
        for s, step in enumerate(self.wiring.steps):
            vertex = self._vertex(s)
            vertex = loop_of.get(vertex, vertex)
            rank.setdefault(vertex, s)
            if vertex not in items:
                items[vertex] = step if s not in self.place else self._batch(self.columns[vertex])
        successors: dict[int, set[int]] = defaultdict(set)
        for vertex, readers in self.successors().items():
            here = loop_of.get(vertex, vertex)
            successors[here].update({loop_of.get(r, r) for r in readers} - {here})
        planned = tuple(items[vertex] for vertex in topological(successors, rank))
        rows = [
            row
            for item in planned
            if not isinstance(item, GraphStep)
            for row in (item.links if isinstance(item, Loop) else (item.links,))
        ]
        stacked = {v for row in rows for link in row if link.stacked for v in link.values}
        return Plan(planned, frozenset(stacked))

    def _batch(self, column: Column) -> Batch:
        steps = tuple(self.wiring.steps[s] for s in column)
        return Batch(steps, tuple(Link(v) for v in zip(*(s.inputs for s in steps), strict=True)))


def _orders_of_writers(graph: Graph) -> list[tuple[int, int]]:
    """Pairs of steps that write one auxiliary state, which must stay in order."""
    last: dict[int, int] = {}
    found = []
    for s, step in enumerate(graph.steps):
        for *_, number in step.aux_writes:
            if number in last:
                found.append((last[number], s))
            last[number] = s
    return found
