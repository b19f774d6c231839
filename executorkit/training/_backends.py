"""The backends of a training step: the arrays and programs of an executor or a group of devices."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import jax
import numpy as np

from ..arrays.protocol import Producer
from ..arrays.storage import Storage
from ..calls.update_call import UpdateCall
from ..errors import StepError
from ..executor import BoundGraph, Executor, PendingStep, head_gradients, heads_in_order, lazy_zeros
from ..lowering import Graph, graph_of, optimized
from ..ndarray import NDArray
from ..optimizer import OptaxUpdater, Updater
from ..parallel import (
    DataParallelCore,
    PerDevice,
    PmapExecutor,
    ReplicatedArray,
    attach_replicated,
    gather,
    source_of,
    state_sharding_of,
    update_by_sum,
)
from ..program import CompiledFunction, Program, StepSpec, UpdateSpec, program_for

#: The updater of a training step.
StepUpdater = Updater | OptaxUpdater


class Backend(ABC):
    """The arrays and programs of a training step: ``runnables`` of all devices; ``arg_arrays`` and
    ``aux_arrays`` hold NDArrays, or the arrays of all devices."""

    def __init__(
        self,
        runnables: Sequence[BoundGraph[Any]],
        arg_arrays: Sequence[Any],
        aux_arrays: Sequence[Any],
    ) -> None:
        self._runnables = list(runnables)
        self.arg_arrays = arg_arrays
        self.aux_arrays = aux_arrays
        self._update: UpdateSpec | None = None

    @property
    def lock(self) -> RLock:
        return self._runnables[0].lock

    @property
    def _argnums(self) -> tuple[int, ...]:
        return self._runnables[0].program.argnums

    def first(self, i: int) -> NDArray:
        array = self.arg_arrays[i]
        return array if isinstance(array, NDArray) else array[0]

    @property
    def weights(self) -> list[NDArray]:
        return [self.first(i) for i in self._argnums]

    @property
    def state_sources(self) -> list[NDArray]:
        arrays = [self.arg_arrays[i] for i in self._argnums]
        pairs = zip(arrays, self.weights, strict=True)
        return [source_of(a) if isinstance(a, ReplicatedArray) else w for a, w in pairs]

    @property
    def functions(self) -> list[CompiledFunction]:
        if self._update is None:
            return []
        runnable = self._runnables[0]
        spec = StepSpec((self._update,), False, joins_processes=runnable.joins_processes)
        return [runnable.program.step_function(True, spec)]

    def start(self) -> list[PendingStep]:
        for runnable in self._runnables:
            runnable.overwrite_constants()
        return [PendingStep(runnable, True) for runnable in self._runnables]

    @abstractmethod
    def heads(self, out_grads: object, names: Sequence[str]) -> list[Sequence[Any]]:
        """Returns the head gradients of the outputs for each step, None where none is given."""

    def backward(
        self, steps: Sequence[PendingStep], heads: Sequence[Sequence[object]], updater: StepUpdater
    ) -> None:
        for step, step_heads in zip(steps, heads, strict=True):
            step.backward(step_heads)

    def update(self, updater: StepUpdater) -> bool:
        """Updates the parameters by the steps' gradients. Returns False, and changes nothing, if
        the optimizer's class overrides ``update``."""
        targets = tuple(range(len(self._argnums)))
        call = self._attach(updater, targets)
        if call is not None:
            runnable, leaves = self._runnables[0], jax.tree.leaves(call.state)
            weights = [runnable.arg_arrays[i] for i in self._argnums]
            update = runnable.update_for(call.update, weights, leaves)
            self._update = UpdateSpec(targets, update, len(call.hyperparams))
        return call is not None

    @abstractmethod
    def _attach(self, updater: StepUpdater, indices: tuple[int, ...]) -> UpdateCall | None: ...

    @abstractmethod
    def whole_outputs(self) -> list[NDArray]: ...


class ExecutorBackend(Backend):
    def __init__(self, executor: Executor, argnums: tuple[int, ...]) -> None:
        self._runnable = _GradientExecutor(executor, argnums)
        super().__init__([self._runnable], executor.arg_arrays, executor.aux_arrays)

    def heads(self, out_grads: object, names: Sequence[str]) -> list[Sequence[Any]]:
        return [head_gradients(out_grads, self._runnable)]

    def _attach(self, updater: StepUpdater, indices: tuple[int, ...]) -> UpdateCall | None:
        weights, states = self.weights, updater.states
        grads = self._runnable.gradient_targets
        return updater.attach(indices, weights, weights, grads, lambda i: states[i])

    def whole_outputs(self) -> list[NDArray]:
        return self._runnable.outputs


class GroupBackend(Backend):
    """A group: one pmapped program, or one per device. Gradients are summed and update the first
    device, as in a Module, over all joined processes."""

    def __init__(
        self,
        core: DataParallelCore,
        argnums: tuple[int, ...],
        axes: Sequence[int],
        joins_processes: bool = False,
    ) -> None:
        self._core = core
        self._joins = joins_processes
        self._axes = axes
        execs = () if core.is_pmapped else core.execs
        runnables: list[BoundGraph[Any]] = [_GradientExecutor(e, argnums) for e in execs]
        pmapped = core.pmapped
        if pmapped is not None:
            n_args = len(pmapped.arg_arrays)
            weights = [pmapped.arg_arrays[i] for i in argnums]
            runnables = [
                PmapExecutor(
                    core.symbol,
                    core.graph,
                    core.contexts,
                    gradient_program(core.graph, argnums),
                    pmapped.arg_arrays,
                    [None] * n_args,
                    grad_req=["null"] * n_args,
                    aux_arrays=pmapped.aux_arrays,
                    outputs=pmapped.outputs,
                    gradient_targets=[Storage(w.shape, w.dtype) for w in weights],
                    lock=pmapped.lock,
                )
            ]
            runnables[0].joins_processes = joins_processes
        self._state_sharding = state_sharding_of(core, joins_processes)
        super().__init__(runnables, core.arg_arrays, core.aux_arrays)

    def heads(self, out_grads: object, names: Sequence[str]) -> list[Sequence[Any]]:
        in_order = heads_in_order(out_grads, names, (NDArray, np.ndarray))
        heads = self._core.head_gradients(in_order, self._axes)
        if self._core.is_pmapped:
            return [[h.value if isinstance(h, ReplicatedArray) else None for h in heads]]
        devices = range(len(self._runnables))
        return [[None if h is None else h[k].value for h in heads] for k in devices]

    def backward(
        self, steps: Sequence[PendingStep], heads: Sequence[Sequence[Any]], updater: StepUpdater
    ) -> None:
        if self._core.is_pmapped or not isinstance(updater, OptaxUpdater):
            super().backward(steps, heads, updater)
            return
        loss_scale = updater.loss_scale
        if loss_scale is None:
            super().backward(steps, heads, updater)
            return
        for step, context, step_heads in zip(steps, self._core.contexts, heads, strict=True):
            scale = jax.device_put(loss_scale, context.device)
            scaled = [None if h is None else h * scale.astype(h.dtype) for h in step_heads]
            step.backward(scaled, scale)

    def update(self, updater: StepUpdater) -> bool:
        if self._core.is_pmapped or not updater.is_pure:
            return super().update(updater)
        grads = zip(*(r.gradient_targets for r in self._runnables), strict=True)
        weights: list[PerDevice] = [self.arg_arrays[i] for i in self._argnums]
        update_by_sum(
            updater,
            list(range(len(weights))),
            weights,
            [list(g) for g in grads],
            self._joins,
            self._core.changing_states if self._joins else (),
        )
        return True

    def _attach(self, updater: StepUpdater, indices: tuple[int, ...]) -> UpdateCall | None:
        weights = [self.arg_arrays[i] for i in self._argnums]
        targets = self._runnables[0].gradient_targets
        return attach_replicated([updater], indices, weights, targets, self._state_sharding)

    @property
    def functions(self) -> list[CompiledFunction]:
        if self._core.is_pmapped:
            return super().functions
        programs = {id(r.program): r.program for r in self._runnables}.values()
        names = ("forward_backward_train",)
        return [f for program in programs for f in program.functions if f.name in names]

    def whole_outputs(self) -> list[NDArray]:
        outputs = zip(self._core.outputs, self._axes, strict=True)
        return [_whole(output, axis) for output, axis in outputs]


class _GradientExecutor(BoundGraph[NDArray]):
    def __init__(self, executor: Executor, argnums: tuple[int, ...]) -> None:
        if executor.group2ctx or executor.runs_eagerly:
            problem = "an executor with group2ctx or Python operators cannot be one program"
            hint = "forward, backward, then tx.update on executor.grads()"
            raise StepError("Step", problem, hint=hint)
        weights = [executor.arg_arrays[i] for i in argnums]
        super().__init__(
            executor.graph,
            gradient_program(executor.graph, argnums),
            executor.arg_arrays,
            executor.aux_arrays,
            executor.outputs,
            [lazy_zeros(w.shape, w.dtype_name, w.context) for w in weights],
            accumulate=[False] * len(argnums),
            keep_gradients=False,
            lock=executor.lock,
        )
        self.program.add_user(self)
        self._executor = executor

    def next_key(self) -> Any:
        return self._executor.next_key()

    def key_aval(self) -> Any:
        return self._executor.key_aval()

    def filled_like(self, array: NDArray, number: float) -> jax.Array:
        return self._executor.filled_like(array, number)


def _whole(output: PerDevice, axis: int) -> NDArray:
    if isinstance(output, list) or axis < 0:
        return gather(output, axis)
    shape = list(output.shape)
    shape[axis] *= len(output)
    present = ReplicatedArray(output.contexts, output.shape, output.dtype, output.value)
    storage = Storage(tuple(shape), output.dtype)
    storage.defer(_GatherProducer(storage, present, axis))
    return NDArray.from_storage(storage, 0, tuple(shape), output.contexts[0])


@dataclass(frozen=True, slots=True, eq=False)
class _GatherProducer:
    copies = False

    storage: Storage
    array: ReplicatedArray
    axis: int

    def __call__(self) -> None:
        self.storage.assign(gather(self.array, self.axis).value)

    force = __call__

    @property
    def source(self) -> Producer | None:
        return self.array.pending


def gradient_program(graph: Graph, argnums: tuple[int, ...]) -> Program:
    return program_for(graph_of(optimized(graph.head_entries)), argnums)
