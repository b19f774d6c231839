"""Loops that feed each other, made one: on CPUs.

The layers of an unrolled recurrent network are loops of their own, with the products of whole
sequences between them. In one loop those are taken turn by turn, but two layers can be computed
side by side. Measured on two x86-64 cores, two LSTM layers of 200 over 60 steps, milliseconds in
one loop / in two: 32 rows, inference 22.0 / 25.4, training 69 / 75; one row, 2.4 / 1.9 and
6.1 / 4.6, since products of single rows are the reading of weights. So do layers of 512 (32 rows,
30 steps: 57 / 53, 168 / 157), whose weights do not stay in the caches of the cores. An accelerator
computes one thing at a time, and large products best: there they stay apart.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import jax

from ...ops.recurrence.scan import fused_scan_pays, matrix_rows
from ...ops.schema.attrs import Shape
from .graph_algorithms import reachable
from .ir import Loop, Plan
from .search import PRODUCTS

if TYPE_CHECKING:
    from .fold import GraphFolding


def fusion_may_pay() -> bool:
    """Whether loops that feed each other may be better as one here."""
    return jax.default_backend() == "cpu"


def fusion_pays(joined: Plan, shape: Callable[[int], Shape]) -> bool:
    """Whether a plan with joined loops is better, given the shapes of values by number."""
    for loop in joined.items:
        if not isinstance(loop, Loop):
            continue
        links = [link for row in loop.links for link in row]
        starts = [link.values[0] for link in links if link.back]
        weights = {
            link.values[0]
            for column, row in zip(loop.columns, loop.links, strict=True)
            if column[0].op.name in PRODUCTS
            for link in row
            if link.constant
        }
        if not fused_scan_pays(matrix_rows(shape(starts[0])), sum(prod(shape(n)) for n in weights)):
            return False
    return True


def join(folding: GraphFolding) -> bool:
    """Joins pairs of loops of as many turns, with the columns between them, where only columns are
    between them, until there is no such pair; whether there was any."""
    before = len(folding.loops)
    done = 0
    while done + 1 < len(folding.loops):
        for after in range(done + 1, len(folding.loops)):
            joined = _joined(folding, folding.loops[done][0], folding.loops[after][0])
            if joined is not None:
                del folding.loops[after]
                folding.loops[done] = joined
                break
        else:
            done += 1
    return len(folding.loops) < before


def _joined(
    folding: GraphFolding, one: list[int], other: list[int]
) -> tuple[list[int], Loop] | None:
    """The loop of two loops' columns and those between, or None."""
    successors = folding.successors()
    predecessors: dict[int, set[int]] = {v: set() for v in successors}
    for vertex, readers in successors.items():
        for reader in readers:
            predecessors[reader].add(vertex)
    count = len(folding.columns)
    for first, second in ((one, other), (other, one)):
        after = reachable(successors, first)
        if after.isdisjoint(second):
            continue
        members = {*first, *second, *(after & reachable(predecessors, second))}
        others = {c for cycle, _ in folding.loops for c in cycle} - {*first, *second}
        if max(members) >= count or members & others:
            continue
        if len({len(folding.columns[c]) for c in members}) == 1:
            cycle = sorted(members)
            loop = folding.loop(cycle)
            return None if loop is None else (cycle, loop)
    return None
