"""The core of every executor group: a symbol on several devices, each with its slice of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax

from .._support.annotations import Arrays, Raw
from ..context import Context, warn_of_shared_cpus
from ..display import brief, brief_arrays
from ..errors import BatchError, MXNetError, NotSupportedError, ShapeError, check_names, listed
from ..executor import (
    Executor,
    PendingStep,
    PrecompileSpec,
    bound_avals,
    check_distinct_names,
    is_input_name,
    lazy_zeros,
    needs_head_gradients,
)
from ..lowering import Graph, InferenceResult, graph_of, infer, optimized, placements
from ..ndarray import NDArray
from ..ops.schema.inference import is_fully_known
from ..program import CompileTask, Options, current_options, program_for, retain_freed_memory
from ..symbol import Symbol
from ._batch_transfer import BatchInput, assign_scattered, scatter, slice_array
from ._model_sharding import sharding_of
from ._pmap_executor import PmapExecutor, replicated_outputs
from ._replicas import ContextGroups, Spec, can_replicate, replica_contexts
from ._replicated_array import PerDevice, ReplicatedArray, first_of, shapes_of


class SharedArrays(NamedTuple):
    """Arrays of another group by name: ``names`` have to be shared, others are if shapes agree."""

    args: Mapping[str, PerDevice] = {}
    grads: Mapping[str, PerDevice | None] = {}
    aux: Mapping[str, PerDevice] = {}
    names: frozenset[str] = frozenset()


class ReplicaArrayFactory:
    """Makes the arrays of a group, or takes shared ones, but for arguments ``loaded`` with batches.
    ``group2ctxs`` and ``inferred`` have contexts, shapes and dtypes for each device."""

    def __init__(
        self,
        graph: Graph,
        contexts: Sequence[Context],
        group2ctxs: Sequence[ContextGroups | None],
        inferred: Sequence[InferenceResult],
        loaded: frozenset[str],
        shared: SharedArrays,
    ) -> None:
        self._graph = graph
        self._contexts = contexts
        self._inferred = inferred
        self._loaded = loaded
        self._shared = shared
        self._replicates = can_replicate(contexts, group2ctxs)
        groups = zip(contexts, group2ctxs, strict=True)
        self._placements = [placements(graph, c, g) if g else None for c, g in groups]

    def make(
        self, grad_req: Sequence[str]
    ) -> tuple[list[PerDevice], list[PerDevice | None], list[PerDevice]]:
        args = [self._argument(i) for i in range(len(self._graph.args))]
        requests = enumerate(grad_req)
        grads = [None if req == "null" else self._gradient(i, args[i]) for i, req in requests]
        return args, grads, [self._state(i) for i in range(len(self._graph.aux))]

    def _argument(self, i: int) -> PerDevice:
        name, shared = self._graph.arg_names[i], self._shared_argument(i)
        shapes, dtype = self._shapes(i), self._dtype(i)
        if name in self._shared.names:
            return self._checked_shared(shared, name, shapes, dtype)
        if shared is not None and _has_shapes(shared, shapes, dtype):
            return shared
        node = self._graph.args[i]
        spec = () if name in self._loaded else self._spec(name, node, shapes)
        return self._new(shapes, dtype, node, spec)

    def _gradient(self, i: int, argument: PerDevice) -> PerDevice:
        if self._shared_argument(i) is argument:
            gradient = self._shared.grads.get(self._graph.arg_names[i])
            if gradient is not None:
                return gradient
        spec: Spec = ()
        if isinstance(argument, ReplicatedArray):
            spec = argument.replicas.spec
        return self._new(self._shapes(i), self._dtype(i), self._graph.args[i], spec)

    def _state(self, i: int) -> PerDevice:
        name = self._graph.aux_names[i]
        shapes = [r.aux_shapes[i] for r in self._inferred]
        dtype = self._inferred[0].aux_dtypes[i] or "float32"
        state = self._shared.aux.get(name)
        if state is not None:
            return self._checked_shared(state, name, shapes, dtype)
        spec = self._spec(name, self._graph.aux[i], shapes)
        return self._new(shapes, dtype, self._graph.aux[i], spec)

    def _shared_argument(self, i: int) -> PerDevice | None:
        name = self._graph.arg_names[i]
        return None if name in self._loaded else self._shared.args.get(name)

    def _shapes(self, i: int) -> list[Raw]:
        return [r.arg_shapes[i] for r in self._inferred]

    def _dtype(self, i: int) -> str:
        return self._inferred[0].arg_dtypes[i] or "float32"

    def _spec(self, name: str, node: Any, shapes: Sequence[Any]) -> Spec:
        return sharding_of(name, node.attrs, shapes[0], len(self._contexts[0].devices))

    def _new(self, shapes: Sequence[Any], dtype: str, node: Any, spec: Spec) -> PerDevice:
        if self._replicates and len(set(shapes)) == 1:
            return ReplicatedArray(self._contexts, shapes[0], dtype, spec=spec)
        places = zip(self._placements, self._contexts, strict=True)
        contexts = [placed[node] if placed else context for placed, context in places]
        return [lazy_zeros(s, dtype, c) for s, c in zip(shapes, contexts, strict=True)]

    def _checked_shared(
        self, arrays: PerDevice | None, name: str, shapes: Sequence[Any], dtype: str
    ) -> PerDevice:
        where = f"group: shared parameter {name!r}"
        if arrays is None:
            problem = "the group that it is to be shared with has none of that name"
            hint = "share with the group of the largest bucket, whose symbol has them all"
            raise MXNetError(where, problem, hint=hint)
        if not _has_shapes(arrays, shapes, dtype):
            first = first_of(arrays)
            actual = f"{first.shape} {jax.numpy.dtype(first.dtype).name}"
            sizes = zip(self._graph.arg_names, self._inferred[0].arg_shapes, strict=True)
            raise ShapeError(
                where,
                f"{actual}, expected {shapes[0]} {dtype}",
                because="that is what this group's symbol infers for its inputs",
                given_by=", ".join(f"{n}={s}" for n, s in sizes if n in self._loaded),
                hint=f"label_names=[{name!r}], if it is a label" if is_input_name(name) else None,
            )
        return arrays


def _has_shapes(array: PerDevice, shapes: Sequence[Any], dtype: str) -> bool:
    return shapes_of(array) == list(shapes) and jax.numpy.dtype(first_of(array).dtype).name == dtype


#: Maximum number of contexts in a repr.
_MAX_LISTED_CONTEXTS = 8


class DataParallel:
    """An executor group, a manager of groups, or a module; bound to ``core`` now.

    output_layouts
        the batch axis of each output, -1 without one; None: the first axis of each.
    """

    core: DataParallelCore
    output_layouts: Sequence[int] | None = None


class DataParallelCore:
    """The arrays and programs of one symbol on one or more contexts. Slices of one length on
    distinct devices run as one pmapped program on replicated arrays. One device, slices of
    different lengths, repeated contexts, ``group2ctx`` and Python operators run as one program per
    slice, dispatched without waiting. Results are the same; scripts see arrays per device either
    way, which groups of either kind can share. ``shared`` is a group whose arguments in
    ``shared_names``, gradients and auxiliary states are used, and other arguments of the same shape
    that are not loaded (the states of a recurrent network)."""

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
        self.options = options_with(shared)
        self.contexts = replica_contexts(contexts, self.options.model_parallel)
        #: The rows of the batch of each context, and the arguments that are loaded with batches.
        self.slices = list(slices)
        self.inputs = list(inputs)
        self.grad_req = list(grad_req)
        self.group2ctxs = list(group2ctxs or [None] * len(self.contexts))
        if len(self.slices) != len(self.contexts):
            problem = f"{len(self.slices)} slices, expected one for each of {self.contexts}"
            raise BatchError("group", problem)
        warn_of_shared_cpus(self.contexts)
        self.graph = graph = graph_of(symbol.heads)
        check_distinct_names(graph, "bind")
        self.arg_names = graph.arg_names
        self.aux_names = graph.aux_names
        self.output_names = graph.output_names
        check_names("group: input", (i.name for i in self.inputs), self.arg_names)
        if self.divides_parameters:
            self._check_one_program()
        inferred = [self._infer(rows) for rows in self.slices]
        arrays = ReplicaArrayFactory(
            graph,
            self.contexts,
            self.group2ctxs,
            inferred,
            frozenset(i.name for i in self.inputs),
            SharedArrays() if shared is None else shared.sharing(shared_names),
        ).make(self.grad_req)
        self.arg_arrays, self.grad_arrays, self.aux_arrays = arrays
        #: Number of steps that a ``training.Step`` has taken since the last forward.
        self.steps_taken = 0
        retain_freed_memory(graph, inferred[0])
        #: The executor of all devices together; None where each runs a program of its own.
        self.pmapped = self._bind_pmapped(inferred[0])
        self._execs = [] if self.pmapped else [self._bind(k) for k in range(len(self.contexts))]
        self.outputs: list[PerDevice] = (
            list(self.pmapped.outputs)
            if self.pmapped
            else [list(arrays) for arrays in zip(*(e.outputs for e in self._execs), strict=True)]
        )

    @property
    def divides_parameters(self) -> bool:
        return self.options.model_parallel > 1

    def _check_one_program(self) -> None:
        reasons = [
            ("slices have different lengths", len({s.stop - s.start for s in self.slices}) > 1),
            ("group2ctx spreads the graph over devices", any(self.group2ctxs)),
            ("Python operators belong to one executor", self.graph.has_effects),
            ("contexts are of several platforms", not can_replicate(self.contexts, ())),
        ]
        because = " and ".join(text for text, holds in reasons if holds)
        if because:
            raise NotSupportedError(
                f"model_parallel={self.options.model_parallel}",
                "the devices of this group do not run one program",
                because=because,
                hint="a batch size that the number of replicas divides, contexts of one kind, or "
                "model_parallel=1",
            )

    def __repr__(self) -> str:
        return brief(self, None, self.phrases)

    @property
    def phrases(self) -> list[str]:
        contexts = listed(self.contexts, _MAX_LISTED_CONTEXTS)
        return [f"on {contexts}", *brief_arrays([(i.name, i.shape) for i in self.inputs])]

    def sharing(self, names: Sequence[str]) -> SharedArrays:
        return SharedArrays(
            dict(zip(self.arg_names, self.arg_arrays, strict=True)),
            dict(zip(self.arg_names, self.grad_arrays, strict=True)),
            dict(zip(self.aux_names, self.aux_arrays, strict=True)),
            frozenset(names),
        )

    def _infer(self, rows: slice) -> InferenceResult:
        graph = self.graph
        shapes = {i.name: i.part(rows) for i in self.inputs}
        inferred = infer(graph, shapes, {i.name: i.dtype for i in self.inputs if i.dtype})
        names = (*graph.arg_names, *graph.aux_names, *graph.output_names)
        all_shapes = (*inferred.arg_shapes, *inferred.aux_shapes, *inferred.out_shapes)
        pairs = zip(names, all_shapes, strict=True)
        unknown = [f"{n}: {s}" for n, s in pairs if not is_fully_known(s)]
        if unknown:
            problem = f"these shapes cannot be inferred: {', '.join(unknown)}"
            given_by = ", ".join(f"{n}={s}" for n, s in shapes.items()) or "no inputs"
            hint = "give their shapes in data_shapes or label_shapes"
            raise MXNetError("group", problem, given_by=given_by, hint=hint)
        return inferred

    def _bind_pmapped(self, inferred: InferenceResult) -> PmapExecutor | None:
        args = [a for a in self.arg_arrays if isinstance(a, ReplicatedArray)]
        aux = [a for a in self.aux_arrays if isinstance(a, ReplicatedArray)]
        grads = [g if isinstance(g, ReplicatedArray) else None for g in self.grad_arrays]
        n_arrays = len(self.arg_arrays) + len(self.aux_arrays)
        if self.graph.has_effects or not n_arrays or len(args) + len(aux) < n_arrays:
            return None
        lowered = graph_of(optimized(self.graph.head_entries))
        argnums = tuple(i for i, g in enumerate(grads) if g is not None)
        return PmapExecutor(
            self.symbol,
            self.graph,
            self.contexts,
            program_for(lowered, argnums),
            args,
            grads,
            grad_req=self.grad_req,
            aux_arrays=aux,
            outputs=replicated_outputs(self.contexts, inferred.out_shapes, inferred.out_dtypes),
        )

    def _bind(self, k: int) -> Executor:
        return Executor(
            self.symbol,
            self.contexts[k],
            [a[k] for a in self.arg_arrays],
            [None if g is None else g[k] for g in self.grad_arrays],
            self.grad_req,
            [a[k] for a in self.aux_arrays],
            group2ctx=self.group2ctxs[k],
            options=self.options,
        )

    @property
    def execs(self) -> Sequence[Executor]:
        return self.pmapped.execs if self.pmapped else self._execs

    def share_monitors(self, other: DataParallelCore) -> None:
        """Has monitors of another group's executors watch this one's, too."""
        known = other.pmapped.known_execs if other.pmapped else other._execs
        if known:
            for executor, watched in zip(self.execs, known, strict=True):
                executor.share_monitor(watched)

    @property
    def is_pmapped(self) -> bool:
        return self.pmapped is not None

    def keep_gradients(self, keep: bool) -> None:
        for runnable in [self.pmapped] if self.pmapped else self._execs:
            runnable.set_keep_gradients(keep)

    def join_processes(self, joins: bool) -> None:
        if self.pmapped is not None:
            self.pmapped.joins_processes = joins

    @property
    def changing_states(self) -> list[PerDevice]:
        runnable = self.pmapped or self._execs[0]
        program = runnable.program
        indices = (*program.backward_state_indices, *program.forward_state_indices)
        return [self.aux_arrays[i] for i in indices]

    @property
    def traces(self) -> int:
        programs = [self.pmapped.program] if self.pmapped else [e.program for e in self._execs]
        return sum(p.traces for p in {id(p): p for p in programs}.values())

    def precompile(self, spec: PrecompileSpec) -> list[CompileTask]:
        if self.graph.has_effects:
            return []
        calls = (
            self.pmapped.calls(spec)
            if self.pmapped
            else [
                call
                for executor in self._execs
                for call in spec.calls(executor, *bound_avals(executor), with_update=True)
            ]
        )
        return [function.precompile(*avals) for function, avals in calls]

    # -- running -----------------------------------------------------------------------------------

    def load(self, inputs: Sequence[BatchInput], values: Arrays, what: str) -> None:
        """Writes the parts of a batch's arrays, one for each of ``inputs``, to the devices; or
        nothing: :class:`BatchError` for an array that is missing or of the wrong shape."""
        for assignment in self.scattered(inputs, values, what):
            assign_scattered(*assignment)

    def scattered(
        self, inputs: Sequence[BatchInput], values: Arrays, what: str
    ) -> list[tuple[PerDevice, Any]]:
        values = list(values)
        if len(values) < len(inputs):
            missing = inputs[len(values)]
            raise BatchError(
                f"{what} {missing.name!r}",
                f"missing, expected an array of shape {missing.shape}",
                given_by=f"a batch with {len(values)} of {len(inputs)} arrays: "
                + ", ".join(i.name for i in inputs),
            )
        assignments = []
        for batch_input, value in zip(inputs, values, strict=False):
            target = self.arg_arrays[self.arg_names.index(batch_input.name)]
            where = f"{what} {batch_input.name!r}"
            assignments.append((target, scatter(value, batch_input, self.slices, target, where)))
        return assignments

    def forward(self, is_train: bool) -> None:
        self.steps_taken = 0
        if self.pmapped:
            self.pmapped.forward(is_train)
        else:
            for executor in self._execs:
                executor.forward(is_train)

    def count_step(self) -> None:
        self.steps_taken += 1

    def backward(self, heads: Sequence[PerDevice | None] | None = None) -> None:
        heads = [None] * len(self.outputs) if heads is None else list(heads)
        if self.pmapped:
            self.pmapped.backward(heads)
            return
        for k, executor in enumerate(self._execs):
            executor.backward([None if h is None else h[k] for h in heads])

    def last_steps(self) -> list[PendingStep]:
        pmapped = self.pmapped
        runnables = self.execs if pmapped is None or pmapped.runs_separately else [pmapped]
        return [r.last_step for r in runnables if r.last_step is not None]

    def head_gradients(self, values: Arrays, axes: Sequence[int]) -> list[PerDevice | None]:
        """Cuts head gradients for the devices. One of another shape, but enough rows, is ignored at
        an output that needs none."""
        heads: list[PerDevice | None] = []
        rows = zip(values, self.outputs, axes, self.output_names, strict=False)
        for value, output, axis, name in rows:
            if value is None:
                heads.append(None)
                continue
            whole = BatchInput(name, self.whole_shape(output, axis), None, axis)
            if isinstance(value, NDArray) and self._ignores_head_gradient(len(heads), value, whole):
                heads.append(None)
                continue
            where = f"backward: head gradient of {name!r}"
            parts = scatter(value, whole, self.slices, output, where)
            if isinstance(output, ReplicatedArray):
                heads.append(ReplicatedArray(self.contexts, output.shape, output.dtype, parts))
            else:
                contexts = [a.context for a in output]
                heads.append([NDArray.from_jax(p, c) for p, c in zip(parts, contexts, strict=True)])
        return heads + [None] * (len(self.outputs) - len(heads))

    def _ignores_head_gradient(self, output: int, value: NDArray, whole: BatchInput) -> bool:
        axis, rows = whole.axis, self.slices[-1].stop
        if value.shape == whole.shape or (axis >= 0 and (*value.shape, *[0] * axis)[axis] < rows):
            return False
        return not needs_head_gradients(self.execs[0])[output]

    def whole_shape(self, arrays: PerDevice, axis: int) -> tuple[int, ...]:
        shapes = shapes_of(arrays)
        first = shapes[0]
        if axis < 0 or axis >= len(first):
            return first
        return (*first[:axis], sum(s[axis] for s in shapes), *first[axis + 1 :])


def options_with(shared: DataParallelCore | None) -> Options:
    """Returns the present options, with the ``model_parallel`` of the shared group."""
    present = current_options()
    if shared is None:
        return present
    return replace(present, model_parallel=shared.options.model_parallel)


#: A metric's ``update(labels, outputs)``.
MetricUpdate = Callable[[Sequence[NDArray], Sequence[NDArray]], Any]


def update_metric(
    core: DataParallelCore,
    labels: Sequence[Any],
    pre_sliced: bool,
    axes: Sequence[int],
    update: MetricUpdate,
) -> None:
    """Calls ``update(labels, outputs)`` by device: some metrics are means over updates."""
    if pre_sliced:
        parts = list(labels)
    else:
        axes = [*axes, *[0] * (len(labels) - len(axes))]
        by_label = [
            slice_array(label, core.slices, axis, core.contexts, f"update_metric: label {i}")
            for i, (label, axis) in enumerate(zip(labels, axes, strict=False))
        ]
        parts = [[arrays[k] for arrays in by_label] for k in range(len(core.contexts))]
    for k, device_labels in enumerate(parts):
        update(device_labels, [output[k] for output in core.outputs])
