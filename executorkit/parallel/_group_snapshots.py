"""``check_finite`` of a group: each device's part of the batch, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..debugging.check_finite import (
    StepSnapshot,
    check_snapshots,
    complete_snapshot,
    last_snapshot,
    node_devices,
)
from ..debugging.finite_report import FiniteReport
from ..ndarray.random_state import wrap_key
from ._data_parallel_core import DataParallelCore
from ._pmap_executor import PmapExecutor
from ._replicated_array import PerDevice, ReplicatedArray


def check_group_finite(
    group: DataParallelCore,
    heads: Sequence[PerDevice | None] | None = None,
    raise_error: bool = False,
) -> FiniteReport:
    """As ``Executor.check_finite``, for every device's rows of the last batch, one after the other.

    All of them run on the first device, so that nodes are compiled once; with ``group2ctx`` each
    runs where it belongs. Findings say whose rows they are of. ``heads`` are head gradients for
    each output on all devices.
    """
    several = len(group.contexts) > 1
    labels = [
        f"{context}, rows {rows.start} to {rows.stop}" if several else ""
        for context, rows in zip(group.contexts, group.slices, strict=True)
    ]
    mapped = group._mapped
    if mapped is not None and not mapped._apart:
        found = [_device_snapshot(group, mapped, k, heads) for k in range(len(labels))]
    else:
        found = [
            last_snapshot(
                executor, None if heads is None else [h if h is None else h[k] for h in heads]
            )
            for k, executor in enumerate(group.execs)
        ]
    argnums = [i for i, g in enumerate(group.grad_arrays) if g is not None]
    notes = [note for _, each in found for note in each]
    snapshots = {label: snapshot for label, (snapshot, _) in zip(labels, found, strict=True)}
    if any(group.group2ctxs):
        places = {label: node_devices(e) for label, e in zip(labels, group.execs, strict=True)}
        checked = check_snapshots(
            group._graph, argnums, snapshots, lambda k, s: places[k](s), notes
        )
    else:
        home = group.contexts[0].device
        moved = {k: _snapshot_on(snapshot, home) for k, snapshot in snapshots.items()}
        checked = check_snapshots(group._graph, argnums, moved, lambda *_: home, notes)
    return checked.raise_if_found() if raise_error else checked


def _device_snapshot(
    group: DataParallelCore, mapped: PmapExecutor, k: int, heads: Sequence[PerDevice | None] | None
) -> tuple[StepSnapshot, list[str]]:
    """Device ``k``'s part of the last mapped forward, or of what one would read now."""
    replicas, run, program = mapped._replicas, mapped._run, mapped._program.program

    def split(stack: Any) -> Any:
        value = stack.value if isinstance(stack, ReplicatedArray) else stack
        return None if value is None else replicas.split(value, k)

    given = None if heads is None else [split(h) for h in heads]
    if run is None:
        args: Any = mapped.arg_arrays
        aux: Any = mapped.aux_arrays
        train, key, updated = bool(program.argnums), None, False
        if mapped._draws[train]:
            key = jax.random.key(0)
    else:
        args, aux, train, updated = run.args, run.aux, run.train, run.updated
        key = None if run.key is None else wrap_key(replicas.split(run.key, k))
        known = run.heads or run.used_heads
        if given is None and known is not None:
            given = [split(h) for h in known]
    states = tuple(map(split, aux))
    snapshot = StepSnapshot(tuple(map(split, args)), states, key, train, given, updated)
    return complete_snapshot(program, group.output_names, snapshot)


def _snapshot_on(snapshot: StepSnapshot, home: Any) -> StepSnapshot:
    args, aux, key, heads = jax.device_put(
        (snapshot.args, snapshot.aux, snapshot.key, snapshot.heads), home
    )
    return StepSnapshot(args, aux, key, snapshot.train, heads, snapshot.updated)
