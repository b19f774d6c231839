"""A symbol on several devices, each with its slice of the batch: what both groups are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..context import Context
from ..errors import BatchError, MXNetError, SliceError, UnknownNameError, explain
from ..executor import Executor
from ..executor._ahead import PrecompileSpec, bound_avals, submit_compilation
from ..executor._run import PendingStep
from ..lowering import graph_of, infer, optimized
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ops._facts import is_fully_known
from ..program import current_options, program_for
from ..program._background import CompileTask
from ..symbol import Symbol
from ._arrays import ContextGroups, ReplicaArrayFactory
from ._batch import BatchInput, assign_scattered, scatter
from ._mapped import PmapExecutor, no_forward_error, replicated_outputs
from ._stacked import PerDevice, ReplicatedArray


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
