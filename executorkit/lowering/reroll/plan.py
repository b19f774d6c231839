"""Choice of a graph's plan: search, fold and fuse, once per graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ...ops.schema.attrs import Shape
from .._graph import Graph
from .fold import GraphFolding
from .fuse import fuse_loops, fusion_may_pay, fusion_pays
from .ir import RerollPlan
from .search import MIN_REPEATS, candidate_chains

#: Maximum number of parts of chains that are tried per graph.
_MAX_TRIALS = 32


def plan_for(graph: Graph, shape_of: Callable[[int], Shape]) -> RerollPlan | None:
    """The faster plan of a graph, given the shapes of values by number; None if there is nothing
    to re-roll. ``shape_of`` is called only if the choice depends on shapes."""
    plan, fused = _plans_of(graph)
    return fused if fused is not None and fusion_pays(fused, shape_of) else plan


def plan_of(graph: Graph) -> RerollPlan | None:
    """The plan of a graph without fusion of loops, or None if there is nothing to re-roll."""
    return _plans_of(graph)[0]


@lru_cache(maxsize=512)
def _plans_of(graph: Graph) -> tuple[RerollPlan | None, RerollPlan | None]:
    """The plan without and with fused loops.

    A chain that is no recurrence as a whole may be one without its first or last repetition, which
    often lacks an input or a consumer.
    """
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
    return plan, folding.plan() if fusion_may_pay() and fuse_loops(folding) else None
