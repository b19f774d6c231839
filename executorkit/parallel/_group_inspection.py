"""The view of a group's devices and arrays, and the first node that made a NaN on a device."""

from collections.abc import Sequence
from dataclasses import replace

import jax

from ..context import Device
from ..debugging import FiniteReport, StepSnapshot, check_snapshots, complete_snapshot
from ..display import Fold, Line, Part, Table, clipped, count, many, shape
from ..errors import listed
from ..executor import (
    NOT_STORED,
    Section,
    SectionEntry,
    last_snapshot,
    memory_summary,
    node_devices,
    pending_status,
    section_views,
    step_snapshot,
    value_shapes,
)
from ..ndarray.array_statistics import Statistics, pool_statistics, statistics
from ..symbol.node import topological_order
from ..symbol.symbol_view import graph_parts
from ._data_parallel_core import DataParallelCore
from ._pmap_executor import PmapExecutor
from ._replicated_array import PerDevice, ReplicatedArray, first_of, shapes_of

#: Maximum number of parameters listed because they differ between devices.
_MAX_LISTED_PARAMETERS = 4


def group_parts(core: DataParallelCore) -> list[Part]:
    """Returns devices with their slices, statistics of arrays over all devices, and the graph. Each
    device computes its own; pending arrays are not computed."""
    sections, differing = _sections(core)
    first = [first_of(a) for a in (*core.arg_arrays, *core.aux_arrays)]
    shapes = value_shapes(core.graph, first)
    order = topological_order(core.symbol.heads)
    each = "each device has " if len(core.contexts) > 1 else ""
    steps = f"; trained by a Step, {many(core.steps_taken, 'step')}" if core.steps_taken else ""
    parts: list[Part] = [
        Line(how_it_runs(core) + steps),
        _devices(core),
        Line(f"{each}{memory_summary(first)}; {many(core.traces, 'compilation')}"),
    ]
    if differing:
        names = listed((clipped(n, 80) for n in differing), _MAX_LISTED_PARAMETERS)
        parts.append(Line(f"not the same on all devices: {names}", bad=True))
    return [
        *parts,
        *section_views(sections),
        Fold("graph", graph_parts(core.symbol, order, shapes)),
    ]


def group_label(core: DataParallelCore) -> str:
    return clipped(core.symbol.name or ", ".join(core.output_names[:3]), 80)


def how_it_runs(core: DataParallelCore) -> str:
    contexts, slices = core.contexts, core.slices
    if core.divides_parameters:
        replicas, width = many(len(contexts), "replica"), core.options.model_parallel
        return f"{replicas} of {width} devices run one mapped program"
    if core.is_pmapped:
        return f"{len(contexts)} devices run one mapped program"
    if len(contexts) == 1:
        return "one device"
    reasons = []
    if len({s.stop - s.start for s in slices}) > 1:
        reasons.append("slices have different lengths")
    if len({c.device for c in contexts}) < len(contexts):
        reasons.append("contexts share a device")
    if any(core.group2ctxs):
        reasons.append("group2ctx spreads the graph over devices")
    if core.graph.has_effects:
        reasons.append("Python operators belong to one executor")
    because = f", because {' and '.join(reasons)}" if reasons else ""
    return f"{len(contexts)} slices run a program each{because}"


def _devices(core: DataParallelCore) -> Table:
    inputs = [(i, clipped(i.name, 80)) for i in core.inputs]
    rows = [
        [
            str(context), ", ".join(map(str, context.devices)), f"{rows.start} to {rows.stop}",
            count(rows.stop - rows.start),
            *(shape(i.part(rows)) for i, _ in inputs),
        ]
        for context, rows in zip(core.contexts, core.slices, strict=True)
    ]  # fmt: skip
    return Table(["context", "device", "slice", "rows", *(name for _, name in inputs)], rows, {3})


def _sections(core: DataParallelCore) -> tuple[list[Section], list[str]]:
    # Also the names of the parameters that are not the same on all devices.
    inputs = {i.name for i in core.inputs}
    loaded: list[SectionEntry] = []
    parameters: list[SectionEntry] = []
    differing: list[str] = []
    for name, array, request in zip(core.arg_names, core.arg_arrays, core.grad_req, strict=True):
        each = _statistics_or_status(array)
        entry = _entry(name, array, each, request)
        (loaded if name in inputs else parameters).append(entry)
        if name not in inputs and not isinstance(each, str) and len(set(each)) > 1:
            differing.append(name)
    gradients = [
        _entry(name, array, NOT_STORED if core.steps_taken else _statistics_or_status(array))
        for name, array in zip(core.arg_names, core.grad_arrays, strict=True)
        if array is not None
    ]
    states, outputs = (
        [_entry(name, array, _statistics_or_status(array)) for name, array in pairs]
        for pairs in (
            zip(core.aux_names, core.aux_arrays, strict=True),
            zip(core.output_names, core.outputs, strict=True),
        )
    )
    columns, with_request = ("shape", "dtype"), ("shape", "dtype", "grad_req")
    sections = [
        Section("inputs", with_request, loaded),
        Section("parameters", with_request, parameters),
        Section("auxiliary states", columns, states),
        Section("gradients", columns, gradients),
        Section("outputs", columns, outputs),
    ]
    return sections, differing


def _entry(
    name: str, array: PerDevice, each: list[Statistics] | str, *request: str
) -> SectionEntry:
    shapes = " ".join(shape(s) for s in dict.fromkeys(shapes_of(array)))
    columns = [shapes, jax.numpy.dtype(first_of(array).dtype).name, *request]
    return SectionEntry(name, columns, each if isinstance(each, str) else pool_statistics(each))


def _statistics_or_status(array: PerDevice) -> list[Statistics] | str:
    sources = [array.pending] if isinstance(array, ReplicatedArray) else [a.pending for a in array]
    status = next((text for text in map(pending_status, sources) if text is not None), None)
    if status is not None:
        return status
    if isinstance(array, ReplicatedArray):
        replicas, stacked = array.replicas, array.value
        return [statistics(replicas.host_entry(stacked, k)) for k in range(len(replicas))]
    return [statistics(a.host) for a in array]


def check_group_finite(
    core: DataParallelCore,
    heads: Sequence[PerDevice | None] | None = None,
    raise_error: bool = False,
) -> FiniteReport:
    """Checks every device's rows of the last batch, as ``Executor.check_finite``. All run on the
    first device, so that nodes are compiled once; with ``group2ctx`` where they belong. ``heads``
    are head gradients for each output on all devices."""
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


def _snapshot_on(snapshot: StepSnapshot, device: Device) -> StepSnapshot:
    arrays = snapshot.args, snapshot.aux, snapshot.key, snapshot.heads
    args, aux, key, heads = jax.device_put(arrays, device)
    return replace(snapshot, args=args, aux=aux, key=key, heads=heads)
