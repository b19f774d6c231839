"""``check_finite``: a graph run node by node, and the first node that made a NaN or an infinity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from ..context import Device
from ..lowering import Graph, placements
from ..lowering._graph import GraphStep
from ..ndarray._statistics import statistics_of_lists
from ..program import PartitionedProgram, Program
from ._heads import head_gradients
from ._nodewise import NodewiseRun
from ._ranges import FiniteAnalysis, StepSnapshot
from ._report import Finding, FiniteReport
from ._shown import value_or_status

if TYPE_CHECKING:
    from ._executor import Executor


def check_snapshots(
    graph: Graph,
    argnums: Sequence[int],
    snapshots: Mapping[str, StepSnapshot],
    place: Callable[[str, GraphStep], Device],
    notes: Sequence[str] = (),
) -> FiniteReport:
    """Runs a graph node by node on snapshots, by the words for their devices; ``place`` says where
    each node of each of them runs."""
    found: list[Finding] = []
    outputs: list[str] = []
    gradients: list[str] = []
    notes, checked = list(notes), 0
    if any(s.updated for s in snapshots.values()):
        notes.append("the parameters are those after the update that ran with backward")
    for device, snapshot in snapshots.items():
        runs = NodewiseRun(graph, partial(place, device))
        traced = runs.forward(
            snapshot.args, snapshot.aux, snapshot.key, snapshot.train, snapshot.heads is not None
        )
        ranges = FiniteAnalysis(graph, snapshot.heads or ())
        finite = ranges.read(traced)
        if snapshot.heads is not None and finite:
            runs.backward(traced, snapshot.heads, argnums, snapshot.key, snapshot.train)
            ranges.read(traced)
        elif snapshot.heads is not None:
            notes.append("gradients were not checked, since forward is not finite already")
        found += [replace(f, device=device) for f in ranges.findings()]
        checked += ranges.checked
        outputs += ranges.outputs
        gradients += [graph.arg_names[i] for i in argnums if ranges.is_bad_gradient(i)]
    return FiniteReport(found, checked, outputs, gradients, notes)


def check(executor: Executor, out_grads: Any = None) -> FiniteReport:
    """See ``Executor.check_finite``."""
    snapshot, notes = last_snapshot(executor, out_grads)
    placed = node_devices(executor)
    return check_snapshots(
        executor._graph,
        executor._wanted,
        {"": snapshot},
        lambda _, step: placed(step),
        [*notes, *_nonfinite_accumulated(executor)],
    )


def node_devices(executor: Executor) -> Callable[[GraphStep], Device]:
    """On which device each node runs."""
    ctx, groups = executor._ctx, executor._group2ctx
    placed = placements(executor._graph, ctx, groups) if groups else {}
    return lambda step: placed.get(step.node, ctx).device


def _nonfinite_accumulated(executor: Executor) -> list[str]:
    """Gradients that are added to: what is not finite stays there."""
    program = executor._program
    names = [executor._graph.arg_names[i] for i in program.argnums]
    targets = [
        (name, value_or_status(target))
        for name, target, accumulate in zip(
            names, executor._grad_targets, program.accumulate, strict=True
        )
        if accumulate
    ]
    known = [(name, value) for name, value in targets if not isinstance(value, str)]
    found = statistics_of_lists([[value for _, value in known]])[0]
    bad = [name for (name, _), one in zip(known, found, strict=True) if one.nans or one.infs]
    if not bad:
        return []
    return [f"grad_req 'add' keeps what is not finite in {', '.join(bad[:4])}: zero_grad()"]


def last_snapshot(executor: Executor, out_grads: Any) -> tuple[StepSnapshot, list[str]]:
    """What the last forward read, or would read now, and the head gradients that go with it."""
    run, program, names = executor._run, executor._program, executor._graph.output_names
    heads: Sequence[Any] | None = None
    if out_grads is not None:
        heads = head_gradients(out_grads, executor.outputs, names)
    if run is not None:
        heads = heads or run.heads or run.used_heads
        snapshot = StepSnapshot(run.args, run.aux, run.key, run.train, heads, run.updated)
        return complete_snapshot(program, names, snapshot)
    train = bool(program.argnums)
    key = jax.random.key(0) if executor._draws[train] else None
    args, aux = (tuple([a.value for a in xs]) for xs in (executor.arg_arrays, executor.aux_arrays))
    return complete_snapshot(program, names, StepSnapshot(args, aux, key, train, heads))


def complete_snapshot(
    program: Program | PartitionedProgram, names: Sequence[str], snapshot: StepSnapshot
) -> tuple[StepSnapshot, list[str]]:
    """A snapshot in the types that the program computes in, with head gradients where none are
    needed; and what there is to say of that."""
    notes = []
    heads = snapshot.heads
    if not program.argnums:
        heads = None
        notes.append("no gradients are bound: forward alone was checked")
    elif heads is None and not snapshot.train:
        notes.append("the last forward was for inference: gradients were not checked")
    else:
        heads = heads or (None,) * len(names)
        needed = program.needs_head_gradient(snapshot.args, snapshot.aux, snapshot.key)
        missing = [n for n, h, need in zip(names, heads, needed, strict=True) if need and h is None]
        if missing:
            heads = None
            notes.append(
                f"gradients were not checked: output {missing[0]!r} needs a head gradient; "
                "call backward first, or give out_grads"
            )
    args = snapshot.args
    if isinstance(program, Program) and program.options.compute_dtype is not None:
        args = program.cast(args, snapshot.aux, snapshot.key)
        notes.append(f"computed in {program.options.compute_dtype}")
    return replace(snapshot, args=args, heads=heads), notes
