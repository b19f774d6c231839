"""The arrays of a group: stacked over the devices where they can be, its own or shared.

A symbol on several devices, each with its slice of the batch: what both groups are made of.

Metrics over the devices of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ..context import Context
from ..errors import BatchError, MXNetError, ShapeError, SliceError, UnknownNameError, explain
from ..executor import Executor
from ..executor._buffers import lazy_zeros
from ..executor._pending_step import PendingStep
from ..executor._precompile_spec import PrecompileSpec, bound_avals, submit_compilation
from ..lowering import Graph, graph_of, infer, optimized, placements
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ops.schema.inference import is_fully_known
from ..program import current_options, program_for
from ..program._background_tasks import CompileTask
from ..symbol import Symbol
from ._batch_transfer import BatchInput, assign_scattered, scatter, slice_array
from ._pmap_executor import PmapExecutor, no_forward_error, replicated_outputs
from ._replicated_array import PerDevice, ReplicatedArray

ContextGroups = Mapping[str, Context]


def can_replicate(contexts: Sequence[Context], group2ctxs: Sequence[ContextGroups | None]) -> bool:
    """Whether arrays of these contexts can be one sharded array: on distinct devices of one
    platform, more than one of them counting all processes."""
    devices = [c.device for c in contexts]
    several = len(devices) > 1 or jax.process_count() > 1
    alike = len(set(devices)) == len(devices) and len({d.platform for d in devices}) == 1
    return several and alike and not any(group2ctxs)


class ReplicaArrayFactory:
    """Makes the arrays of a group, or takes those that it shares."""

    def __init__(
        self,
        group: DataParallelCore,
        found: list[InferenceResult],
        shared: DataParallelCore | None,
        names: set[str],
    ) -> None:
        graph: Graph = group._graph
        self.group = group
        self.found = found
        self.shared = shared
        self.names = names
        self.stackable = can_replicate(group.contexts, group.group2ctxs)
        self.places = [
            placements(graph, c, g) if g else None
            for c, g in zip(group.contexts, group.group2ctxs, strict=True)
        ]

    def argument(self, i: int) -> PerDevice:
        name = self.group.arg_names[i]
        there = self._there(i)
        if self.shared is not None and name in self.names:
            return self._fitting(there, name, self._shapes(i), self._dtype(i))
        if there is not None and self._is_like(there, self._shapes(i), self._dtype(i)):
            return there
        return self._new(self._shapes(i), self._dtype(i), self.group._graph.args[i])

    def gradient(self, i: int) -> PerDevice | None:
        if self.group.grad_req[i] == "null":
            return None
        shared = self.shared
        if shared is not None and self._there(i) is self.group.arg_arrays[i]:
            there = _find_by_name(shared.arg_names, shared.grad_arrays, self.group.arg_names[i])
            if there is not None:
                return there
        return self._new(self._shapes(i), self._dtype(i), self.group._graph.args[i])

    def state(self, i: int) -> PerDevice:
        name = self.group.aux_names[i]
        shapes = [f.aux_shapes[i] for f in self.found]
        dtype = self.found[0].aux_dtypes[i] or "float32"
        if self.shared is not None:
            there = _find_by_name(self.shared.aux_names, self.shared.aux_arrays, name)
            if there is not None:
                return self._fitting(there, name, shapes, dtype)
        return self._new(shapes, dtype, self.group._graph.aux[i])

    def _there(self, i: int) -> PerDevice | None:
        """The other group's arrays of argument ``i``, unless it is loaded with batches."""
        name = self.group.arg_names[i]
        if self.shared is None or any(name == one.name for one in self.group.inputs):
            return None
        return _find_by_name(self.shared.arg_names, self.shared.arg_arrays, name)

    @staticmethod
    def _is_like(there: PerDevice, shapes: Sequence[Any], dtype: str) -> bool:
        first = there if isinstance(there, ReplicatedArray) else there[0]
        found = (
            [there.shape] * len(there)
            if isinstance(there, ReplicatedArray)
            else [a.shape for a in there]
        )
        return found == list(shapes) and jax.numpy.dtype(first.dtype).name == dtype

    def _shapes(self, i: int) -> list[Any]:
        return [f.arg_shapes[i] for f in self.found]

    def _dtype(self, i: int) -> str:
        return self.found[0].arg_dtypes[i] or "float32"

    def _fitting(
        self, there: PerDevice | None, name: str, shapes: Sequence[Any], dtype: str
    ) -> PerDevice:
        if there is None:
            raise MXNetError(
                explain(
                    f"group: shared parameter {name!r}",
                    "the group that it is to be shared with has none of that name",
                    hint="share with the group of the largest bucket, whose symbol has them all",
                )
            )
        if not self._is_like(there, shapes, dtype):
            first = there if isinstance(there, ReplicatedArray) else there[0]
            raise ShapeError(
                explain(
                    f"group: shared parameter {name!r}",
                    f"{first.shape} {jax.numpy.dtype(first.dtype).name}, "
                    f"expected {shapes[0]} {dtype}",
                    because="that is what this group's symbol infers for its inputs",
                )
            )
        return there

    def _new(self, shapes: Sequence[Any], dtype: str, node: Any) -> PerDevice:
        contexts = self.group.contexts
        if self.stackable and len(set(shapes)) == 1:
            return ReplicatedArray(contexts, shapes[0], dtype)
        placed = [p[node] if p else c for p, c in zip(self.places, contexts, strict=True)]
        return [_new_array(s, dtype, c) for s, c in zip(shapes, placed, strict=True)]


def _find_by_name(names: Sequence[str], arrays: Sequence[Any], name: str) -> Any:
    return arrays[names.index(name)] if name in names else None


def _new_array(shape: tuple[int, ...], dtype: str, context: Context) -> NDArray:
    return lazy_zeros(shape, dtype, context)


class DataParallelCore:
    """The arrays and programs of one symbol on one or more contexts.

    Slices of one length on distinct devices run as one mapped program on stacked arrays. One
    device, slices of different lengths, repeated contexts, ``group2ctx`` and Python operators run
    as one program per slice, dispatched one after the other without waiting. Results are the same;
    arrays are per device either way, and can be shared between groups of either kind.

    symbol, contexts, slices
        what the group was made of; ``slices[k]`` are the rows of the batch of ``contexts[k]``.
    inputs
        arguments that are loaded with batches.
    arg_arrays, grad_arrays, aux_arrays, outputs
        for each argument, state or output the arrays of all devices; None in place of a gradient
        that is not wanted.

    With ``shared``, the arguments in ``shared_names``, their gradients and the auxiliary states are
    those of another group, and so are other arguments of the same shape that are not loaded (the
    states of a recurrent network). All other arrays are new, and zero.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        slices: Sequence[slice],
        inputs: Sequence[BatchInput],
        grad_req: Sequence[str],
        shared: DataParallelCore | None = None,
        shared_names: Sequence[str] = (),
        group2ctxs: Sequence[ContextGroups | None] | None = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.slices = list(slices)
        self.inputs = list(inputs)
        self.grad_req = list(grad_req)
        self.group2ctxs = list(group2ctxs or [None] * len(self.contexts))
        if len(self.slices) != len(self.contexts):
            raise SliceError(
                explain(
                    "group", f"{len(self.slices)} slices, expected one for each of {self.contexts}"
                )
            )
        self._options = current_options()
        self._graph = graph = graph_of(symbol.heads)
        self.arg_names = graph.arg_names
        self.aux_names = graph.aux_names
        self.output_names = graph.output_names
        _check_inputs(self.inputs, self.arg_names)
        found = [self._inferred(rows) for rows in self.slices]
        make = ReplicaArrayFactory(self, found, shared, set(shared_names))
        self.arg_arrays = [make.argument(i) for i in range(len(self.arg_names))]
        self.grad_arrays = [make.gradient(i) for i in range(len(self.arg_names))]
        self.aux_arrays = [make.state(i) for i in range(len(self.aux_names))]
        self._mapped = self._map(found[0])
        self._execs = [] if self._mapped else [self._bound(k) for k in range(len(self.contexts))]
        self.outputs: list[PerDevice] = (
            list(self._mapped.outputs)
            if self._mapped
            else [list(arrays) for arrays in zip(*(e.outputs for e in self._execs), strict=True)]
        )

    def _inferred(self, rows: slice) -> InferenceResult:
        graph = self._graph
        shapes = {i.name: i.part(rows) for i in self.inputs}
        found = infer(graph, shapes, {i.name: i.dtype for i in self.inputs if i.dtype})
        names = (*graph.arg_names, *graph.aux_names, *graph.output_names)
        all_shapes = (*found.arg_shapes, *found.aux_shapes, *found.out_shapes)
        unknown = [
            f"{n}: {s}" for n, s in zip(names, all_shapes, strict=True) if not is_fully_known(s)
        ]
        if unknown:
            raise MXNetError(
                explain(
                    "group",
                    f"these shapes cannot be inferred: {', '.join(unknown)}",
                    given_by=", ".join(f"{n}={s}" for n, s in shapes.items()) or "no inputs",
                    hint="give their shapes in data_shapes or label_shapes",
                )
            )
        return found

    def _map(self, found: InferenceResult) -> PmapExecutor | None:
        arrays = (*self.arg_arrays, *self.aux_arrays)
        stacked = bool(arrays) and all(isinstance(a, ReplicatedArray) for a in arrays)
        if self._graph.has_effects or not stacked:
            return None
        lowered = graph_of(optimized(self._graph.head_entries))
        wanted = tuple(i for i, g in enumerate(self.grad_arrays) if g is not None)
        add = tuple(self.grad_req[i] == "add" for i in wanted)
        return PmapExecutor(
            self.symbol,
            self._graph,
            self.contexts,
            program_for(lowered, wanted, add),
            self.arg_arrays,  # type: ignore[arg-type]
            self.grad_arrays,  # type: ignore[arg-type]
            self.grad_req,
            self.aux_arrays,  # type: ignore[arg-type]
            replicated_outputs(self.contexts, found.out_shapes, found.out_dtypes),
        )

    def _bound(self, k: int) -> Executor:
        return Executor(
            self.symbol,
            self.contexts[k],
            [a[k] for a in self.arg_arrays],
            [None if g is None else g[k] for g in self.grad_arrays],
            self.grad_req,
            [a[k] for a in self.aux_arrays],
            self.group2ctxs[k],
            options=self._options,
        )

    @property
    def execs(self) -> list[Executor]:
        """One executor for each device, on that device's arrays."""
        return self._mapped.execs if self._mapped else self._execs

    @property
    def is_mapped(self) -> bool:
        """Whether all devices run one mapped program."""
        return self._mapped is not None

    @property
    def mapped_run(self) -> PendingStep | None:
        """The last forward of all devices as one mapped program; None if they ran by themselves."""
        mapped = self._mapped
        return None if mapped is None or mapped._apart else mapped._run

    def keep_gradients(self, keep: bool) -> None:
        """Whether gradients are stored that an update uses in the program that computes them."""
        for one in [self._mapped] if self._mapped else self._execs:
            one._keep_gradients = keep

    @property
    def traces(self) -> int:
        """Traces (compilations) of the programs that this group runs."""
        programs = [self._mapped._program] if self._mapped else [e.program for e in self._execs]
        return sum(p.traces for p in {id(p): p for p in programs}.values())

    def precompile(self, request: PrecompileSpec) -> list[CompileTask]:
        """Compiles, in the background, what a run of this group will need; nothing for symbols with
        Python operators, whose programs belong to one executor."""
        if self._graph.has_effects:
            return []
        calls = (
            self._mapped.calls(request)
            if self._mapped
            else [c for e in self._execs for c in request.calls(e, *bound_avals(e), steps=True)]
        )
        return [submit_compilation(*call) for call in calls]

    # Running

    def load(self, inputs: Sequence[BatchInput], values: Sequence[Any], what: str) -> None:
        """Cuts a batch's arrays, one for each of ``inputs``, and writes them to the devices.

        Further arrays are ignored. Raises :class:`BatchError`, naming the array, for one that is
        missing or of the wrong shape; nothing is written then.
        """
        for assignment in self.scattered(inputs, values, what):
            assign_scattered(*assignment)

    def scattered(
        self, inputs: Sequence[BatchInput], values: Sequence[Any], what: str
    ) -> list[tuple[PerDevice, Any]]:
        """What :meth:`load` assigns, all of it checked."""
        values = list(values)
        if len(values) < len(inputs):
            missing = inputs[len(values)]
            raise BatchError(
                explain(
                    f"{what} {missing.name!r}",
                    f"missing, expected an array of shape {missing.shape}",
                    given_by=f"a batch with {len(values)} of {len(inputs)} arrays: "
                    + ", ".join(i.name for i in inputs),
                )
            )
        scattered = []
        for one, value in zip(inputs, values, strict=False):
            target = self.arg_arrays[self.arg_names.index(one.name)]
            where = f"{what} {one.name!r}"
            scattered.append((target, scatter(value, one, self.slices, target, where)))
        return scattered

    def forward(self, is_train: bool) -> None:
        """Runs all devices; outputs are computed when they are looked at."""
        if self._mapped:
            self._mapped.forward(is_train)
        else:
            for executor in self._execs:
                executor.forward(is_train)

    def backward(self, heads: Sequence[PerDevice | None] | None = None) -> None:
        """Computes the gradients on all devices; ``heads`` are head gradients for each output,
        none are needed for outputs of loss operators."""
        heads = [None] * len(self.outputs) if heads is None else list(heads)
        if self._mapped:
            self._mapped.backward(heads)
            return
        if any(e._run is None for e in self._execs):
            raise no_forward_error()
        for k, executor in enumerate(self._execs):
            executor.backward([None if h is None else h[k] for h in heads])

    def head_gradients(self, values: Sequence[Any], axes: Sequence[int]) -> list[PerDevice | None]:
        """Head gradients of a whole batch, cut for the devices; all are checked first."""
        found: list[PerDevice | None] = []
        for value, output, axis, name in zip(
            values, self.outputs, axes, self.output_names, strict=False
        ):
            whole = BatchInput(name, self.whole_shape(output, axis), None, axis)
            where = f"backward: head gradient of {name!r}"
            if value is None:
                found.append(None)
                continue
            parts = scatter(value, whole, self.slices, output, where)
            if isinstance(output, ReplicatedArray):
                found.append(ReplicatedArray(self.contexts, output.shape, output.dtype, parts))
            else:
                contexts = [a.context for a in output]
                found.append([NDArray.from_jax(p, c) for p, c in zip(parts, contexts, strict=True)])
        return found + [None] * (len(self.outputs) - len(found))

    def whole_shape(self, arrays: PerDevice, axis: int) -> tuple[int, ...]:
        """The shape that the arrays of all devices have together."""
        shapes = (
            [arrays.shape] * len(arrays)
            if isinstance(arrays, ReplicatedArray)
            else [a.shape for a in arrays]
        )
        first = shapes[0]
        if axis < 0 or axis >= len(first):
            return first
        return (*first[:axis], sum(s[axis] for s in shapes), *first[axis + 1 :])


def _check_inputs(inputs: Sequence[BatchInput], arg_names: Sequence[str]) -> None:
    for one in inputs:
        if one.name not in arg_names:
            raise UnknownNameError(
                explain(
                    f"group: input {one.name!r}",
                    "it is not an argument of the symbol",
                    hint="one of: " + ", ".join(arg_names),
                )
            )


Update = Callable[[Sequence[NDArray], Sequence[NDArray]], Any]


def update_metric(
    group: DataParallelCore,
    labels: Sequence[Any],
    pre_sliced: bool,
    axes: Sequence[int],
    update: Update,
) -> None:
    """Calls ``update(labels, outputs)`` for each device, with its part of the labels.

    Each device by itself, as in MXNet: some metrics are means over updates. The parts of the
    labels are brought to the devices, where the outputs are; nothing comes to the host.
    """
    if pre_sliced:
        parts = list(labels)
    else:
        axes = [*axes, *[0] * (len(labels) - len(axes))]
        cut = [
            slice_array(label, group.slices, axis, group.contexts, f"update_metric: label {i}")
            for i, (label, axis) in enumerate(zip(labels, axes, strict=False))
        ]
        parts = [[arrays[k] for arrays in cut] for k in range(len(group.contexts))]
    for k, own in enumerate(parts):
        update(own, [output[k] for output in group.outputs])
