"""``check_finite`` of a group: snapshots of each device's part of the last step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from ..debugging import FiniteReport, StepSnapshot, check_snapshots, complete_snapshot
from ..executor import last_snapshot, node_devices, step_snapshot
from ._data_parallel_core import DataParallelCore
from ._pmap_executor import PmapExecutor
from ._replicated_array import PerDevice, ReplicatedArray


def check_group_finite(
    core: DataParallelCore,
    heads: Sequence[PerDevice | None] | None = None,
    raise_error: bool = False,
) -> FiniteReport:
    """Checks every device's rows of the last batch, as ``Executor.check_finite``, one after the
    other.

    All of them run on the first device, so that nodes are compiled once; with ``group2ctx`` each
    runs where it belongs. Findings name the rows. ``heads`` are head gradients for each output on
    all devices.
    """
    several = len(core.contexts) > 1
    labels = [
        f"{context}, rows {rows.start} to {rows.stop}" if several else ""
        for context, rows in zip(core.contexts, core.slices, strict=True)
    ]
    pmapped = core.pmapped
    if pmapped is not None and not pmapped.runs_separately:
        devices = [_device_snapshot(pmapped, k, heads) for k in range(len(labels))]
    else:
        devices = [
            last_snapshot(
                executor,
                executor.last_step,
                None if heads is None else [None if h is None else h[k] for h in heads],
            )
            for k, executor in enumerate(core.execs)
        ]
    argnums = [i for i, g in enumerate(core.grad_arrays) if g is not None]
    notes = [note for _, notes in devices for note in notes]
    snapshots = {label: snapshot for label, (snapshot, _) in zip(labels, devices, strict=True)}
    if any(core.group2ctxs):
        executors = zip(labels, core.execs, strict=True)
        device_of = {k: node_devices(core.graph, e.context, e.group2ctx) for k, e in executors}
        report = check_snapshots(
            core.graph, argnums, snapshots, lambda label, step: device_of[label](step), notes
        )
    else:
        home = core.contexts[0].device
        moved = {label: _snapshot_on(snapshot, home) for label, snapshot in snapshots.items()}
        report = check_snapshots(core.graph, argnums, moved, lambda *_: home, notes)
    return report.raise_if_found() if raise_error else report


def _device_snapshot(
    pmapped: PmapExecutor, k: int, heads: Sequence[PerDevice | None] | None
) -> tuple[StepSnapshot, list[str]]:
    step = pmapped.last_step
    values = heads and [h.value if isinstance(h, ReplicatedArray) else h for h in heads]
    stacked = step_snapshot(pmapped, step, values)
    args, aux, device_heads = jax.tree.map(
        lambda x: pmapped.replicas.split(x, k), (stacked.args, stacked.aux, stacked.heads)
    )
    key = stacked.key if step is None else pmapped.device_key(step.key, k)
    snapshot = replace(stacked, args=args, aux=aux, key=key, heads=device_heads)
    return complete_snapshot(pmapped.device_program, pmapped.output_names, snapshot)


def _snapshot_on(snapshot: StepSnapshot, device: Any) -> StepSnapshot:
    arrays = snapshot.args, snapshot.aux, snapshot.key, snapshot.heads
    args, aux, key, heads = jax.device_put(arrays, device)
    return replace(snapshot, args=args, aux=aux, key=key, heads=heads)
