"""Snapshots of an executor's last step, for ``check_finite``."""

from collections.abc import Callable, Mapping
from typing import Any

import jax

from .._support.annotations import Arrays
from ..context import Context, Device
from ..debugging import StepSnapshot, complete_snapshot
from ..lowering import Graph, GraphStep, placements
from ..ndarray import NDArray
from ..ndarray.array_statistics import statistics
from ._backward import head_gradients
from ._pending_step import PendingStep
from .runnable import Runnable


def last_snapshot(
    runnable: Runnable[NDArray], step: PendingStep | None, out_grads: Any
) -> tuple[StepSnapshot, list[str]]:
    """Returns the arrays that the last step has read (None: would read now), with its head
    gradients; and notes on values that cannot be checked."""
    heads = None if out_grads is None else head_gradients(out_grads, runnable)
    snapshot = step_snapshot(runnable, step, heads)
    return complete_snapshot(runnable.program, runnable.output_names, snapshot)


def step_snapshot(
    runnable: Runnable[Any], step: PendingStep | None, heads: Arrays | None
) -> StepSnapshot:
    if step is not None:
        heads = heads or step.heads
        return StepSnapshot(step.args, step.aux, step.key, step.train, heads, step.updated)
    train = bool(runnable.program.argnums)
    key = jax.random.key(0) if runnable.uses_rng[train] else None
    lists = (runnable.arg_arrays, runnable.aux_arrays)
    args, aux = (tuple([a.value for a in arrays]) for arrays in lists)
    return StepSnapshot(args, aux, key, train, heads)


def node_devices(
    graph: Graph, context: Context, group2ctx: Mapping[str, Context]
) -> Callable[[GraphStep], Device]:
    placed = placements(graph, context, group2ctx) if group2ctx else {}
    return lambda step: placed.get(step.node, context).device


def nonfinite_accumulated(runnable: Runnable[Any]) -> list[str]:
    names = [runnable.graph.arg_names[i] for i in runnable.program.argnums]
    rows = zip(names, runnable.gradient_targets, runnable.accumulate, strict=True)
    values = {name: target.value for name, target, add in rows if add and target.pending is None}
    bad = [n for n, x in jax.device_get(values).items() if statistics(x).finite < x.size]
    if not bad:
        return []
    return [f"grad_req 'add' keeps non-finite values in {', '.join(bad[:4])}: zero_grad()"]
