"""Columns as a loop or a batch: whether they can be one, and whether they should."""

from __future__ import annotations

from collections.abc import Mapping

from ._graph import GraphStep
from ._reroll import Link, Loop, Values
from ._reroll_search import PRODUCTS, Column, UseDef

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
