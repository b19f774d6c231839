"""Choice of a graph's plan: search, fold and fuse, once per graph.

On CPUs loops that feed each other are fused into one, such as the layers of an unrolled recurrent
network: products of whole sequences are then computed iteration by iteration, but two layers side
by side. Measured on two x86-64 cores, two LSTM layers of 200 over 60 steps, milliseconds in one
loop / in two: 32 rows, inference 22.0 / 25.4, training 69 / 75; one row, bound by reading the
weights, 2.4 / 1.9 and 6.1 / 4.6. So are layers of 512 (32 rows, 30 steps: 57 / 53, 168 / 157),
whose weights exceed the caches. Accelerators compute large products best: loops stay separate.
"""

from collections.abc import Callable
from functools import lru_cache
from math import prod

import jax

from ...ops.recurrence.scan import fused_scan_pays, matrix_rows
from ...ops.schema.attrs import Shape
from .._graph import Graph
from .fold import GraphFolding
from .graph_algorithms import reachable
from .ir import RerolledLoop, RerollPlan
from .search import MIN_REPEATS, candidate_chains, multiplies_matrices

#: Maximum number of parts of chains that are tried per graph.
_MAX_TRIALS = 32


def plan_for(graph: Graph, shape_of: Callable[[int], Shape]) -> RerollPlan | None:
    """Returns the faster plan of a graph; None if there is nothing to re-roll. ``shape_of`` is
    called only if the choice depends on shapes."""
    plan, fused = _plans_of(graph)
    return fused if fused is not None and fusion_pays(fused, shape_of) else plan


def plan_of(graph: Graph) -> RerollPlan | None:
    """Returns a graph's plan without fusion of loops, or None if there is nothing to re-roll."""
    return _plans_of(graph)[0]


@lru_cache(maxsize=512)
def _plans_of(graph: Graph) -> tuple[RerollPlan | None, RerollPlan | None]:
    # Without and with fused loops. A chain may be a recurrence only without its first or last
    # repetition, which often lacks an input or a consumer.
    if graph.has_effects or len(graph.steps) < 2 * MIN_REPEATS:
        return None, None
    folding = GraphFolding(graph)
    trials = _MAX_TRIALS
    for chain in candidate_chains(folding.use_def, folding.is_packed):
        for skipped_first, skipped_last in ((0, 0), (1, 0), (0, 1), (1, 1)):
            seed = chain[skipped_first : len(chain) - skipped_last]
            trials -= 1
            if len(seed) >= MIN_REPEATS and trials >= 0 and folding.fold(seed):
                break
    if not folding.loops:
        return None, None
    plan = folding.plan()
    return plan, folding.plan() if jax.default_backend() == "cpu" and fuse_loops(folding) else None


def fusion_pays(fused: RerollPlan, shape_of: Callable[[int], Shape]) -> bool:
    for loop in fused.items:
        if not isinstance(loop, RerolledLoop):
            continue
        operands = [operand for row in loop.operands for operand in row]
        initial = [operand.values[0] for operand in operands if operand.distance]
        weights = {
            operand.values[0]
            for pack, row in zip(loop.packs, loop.operands, strict=True)
            if multiplies_matrices(pack[0])
            for operand in row
            if operand.is_invariant
        }
        elements = sum(prod(shape_of(n)) for n in weights)
        if not fused_scan_pays(matrix_rows(shape_of(initial[0])), elements):
            return False
    return True


def fuse_loops(folding: GraphFolding) -> bool:
    """Fuses pairs of equally long loops with only packs between them; returns whether any."""
    count = len(folding.loops)
    first = 0
    while first + 1 < len(folding.loops):
        for second in range(first + 1, len(folding.loops)):
            fused = _fused(folding, folding.loops[first][0], folding.loops[second][0])
            if fused is not None:
                del folding.loops[second]
                folding.loops[first] = fused
                break
        else:
            first += 1
    return len(folding.loops) < count


def _fused(
    folding: GraphFolding, one: list[int], other: list[int]
) -> tuple[list[int], RerolledLoop] | None:
    successors = folding.successors()
    predecessors: dict[int, set[int]] = {v: set() for v in successors}
    for vertex, readers in successors.items():
        for reader in readers:
            predecessors[reader].add(vertex)
    n_packs = len(folding.packs)
    for producer, consumer in ((one, other), (other, one)):
        downstream = reachable(successors, producer)
        if downstream.isdisjoint(consumer):
            continue
        members = {*producer, *consumer, *(downstream & reachable(predecessors, consumer))}
        in_other_loops = {p for cycle, _ in folding.loops for p in cycle} - {*producer, *consumer}
        if max(members) >= n_packs or members & in_other_loops:
            continue
        if len({len(folding.packs[p]) for p in members}) == 1:
            cycle = sorted(members)
            loop = folding.loop(cycle)
            return None if loop is None else (cycle, loop)
    return None
