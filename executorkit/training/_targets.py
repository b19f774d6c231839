"""What a step trains: one executor, or a group of devices; its program and its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..errors import StepError, explain
from ..executor import Executor
from ..executor._heads import head_gradients
from ..executor._run import PendingStep
from ..executor._slots import Buffers
from ..lowering import Graph, graph_of, optimized
from ..ndarray import NDArray
from ..ndarray._storage import Storage
from ..optimizer import Updater
from ..parallel._batch import gather
from ..parallel._group import DataParallelCore
from ..parallel._mapped import PmapExecutor
from ..parallel._stacked import ReplicatedArray
from ..parallel._states import replicated_state
from ..program import Program, program_for
from ..program._counted import InstrumentedJit
from ..program._stepping import StepSpec, step_function
from ._cells import UNKEPT, StateRef


class ExecutorBackend:
    """An executor's arrays, with a program that has gradients of the parameters alone.

    To a :class:`PendingStep` it is like an Executor.
    """

    _again: frozenset[int] = frozenset()
    _eager = False
    _fusable = True
    _keep_gradients = False

    def __init__(self, executor: Executor, wanted: tuple[int, ...]) -> None:
        if executor._group2ctx or executor._eager:
            raise StepError(
                explain(
                    "Step",
                    "an executor with group2ctx or Python operators cannot be one program",
                    hint="forward, backward, then tx.update on executor.grads()",
                )
            )
        self.executor = executor
        self._program = gradient_program(executor._graph, wanted, executor._in_pieces)
        self.arg_arrays = executor.arg_arrays
        self.aux_arrays = executor.aux_arrays
        self.outputs = executor.outputs
        self._grad_targets = [UNKEPT] * len(wanted)
        self._places = Buffers.of(
            self.arg_arrays, self.aux_arrays, self._grad_targets, self.outputs
        )
        self._draws = executor._draws
        self._next_key = executor._next_key

    def _step_function(self, train: bool, plan: StepSpec) -> InstrumentedJit:
        return step_function(self._program, train, plan)

    def functions(self, plan: StepSpec) -> list[InstrumentedJit]:
        """The compiled functions of a step: one."""
        return [self._step_function(True, plan)]

    def start(self) -> PendingStep:
        """A training forward, promised."""
        self.executor._pin(self._program.constant_inputs)
        return PendingStep(self, True)  # type: ignore[arg-type]

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients for each output, None where none is given."""
        return list(head_gradients(out_grads, self.outputs, names))

    def cell(self, value: jax.Array) -> StateRef:
        """What holds one array of the optimizer's state."""
        return StateRef(jax.device_put(value, self.executor._ctx.device))

    def value(self, cell: Any) -> jax.Array:
        """The array that a cell holds."""
        return cell.value

    def state_of(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        return updater.states[index]

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self.arg_arrays[i]

    def shown_outputs(self) -> list[NDArray]:
        """The outputs of the last step."""
        return self.outputs


class PmapBackend:
    """The same for a group whose devices run one mapped program."""

    def __init__(
        self, group: DataParallelCore, wanted: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        mapped = group._mapped
        assert mapped is not None
        self._mapped = PmapExecutor(
            group.symbol,
            group._graph,
            group.contexts,
            gradient_program(group._graph, wanted),
            mapped.arg_arrays,
            [UNKEPT if i in wanted else None for i in range(len(mapped.arg_arrays))],  # type: ignore[arg-type]
            ["write" if i in wanted else "null" for i in range(len(mapped.arg_arrays))],
            mapped.aux_arrays,
            mapped.outputs,
        )
        self._mapped._keep_gradients = False
        self.arg_arrays = mapped.arg_arrays
        self.aux_arrays = mapped.aux_arrays
        self._group = group
        self._axes = axes

    def functions(self, plan: StepSpec) -> list[InstrumentedJit]:
        """The compiled functions of a step: one, of all devices."""
        return [self._mapped._step_function(True, plan)]

    def start(self) -> PendingStep:
        """A training forward on all devices, promised."""
        self._mapped.forward(True)
        run = self._mapped._run
        assert run is not None
        return run

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients of the whole batch for each output, cut for the devices."""
        found = scatter_head_gradients(self._group, out_grads, names, self._axes)
        return [h.value if isinstance(h, ReplicatedArray) else None for h in found]

    def cell(self, value: jax.Array) -> ReplicatedArray:
        """What holds one array of the optimizer's state, on all devices."""
        contexts = self._mapped.contexts
        stacked = self._mapped._replicas.broadcast(value)
        return ReplicatedArray(contexts, value.shape, value.dtype, stacked)

    def value(self, cell: ReplicatedArray) -> jax.Array:
        """The array that a cell holds on the first device."""
        return cell[0].jax

    def state_of(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter, on all devices."""
        return replicated_state(updater, index, self.arg_arrays[0])

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self.arg_arrays[i][0]

    def shown_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch, brought together when looked at."""
        contexts = self._mapped.contexts
        found = []
        for output, axis in zip(self._mapped.outputs, self._axes, strict=True):
            if axis < 0:
                found.append(output[0])
                continue
            shape = list(output.shape)
            shape[axis] *= len(contexts)
            now = ReplicatedArray(contexts, output.shape, output.dtype, output.value)
            storage = Storage(tuple(shape), output.dtype)
            storage.defer(_GatherProducer(storage, now, axis))
            found.append(NDArray.from_storage(storage, 0, tuple(shape), contexts[0]))
        return found


def scatter_head_gradients(
    group: DataParallelCore, out_grads: Any, names: Sequence[str], axes: Sequence[int]
) -> list[Any]:
    """Head gradients of a whole batch, as ``backward`` takes them, cut for a group's devices."""
    if isinstance(out_grads, Mapping):
        out_grads = [out_grads.get(name) for name in names]
    elif not isinstance(out_grads, list | tuple):
        out_grads = [out_grads] + [None] * (len(names) - 1)
    return group.head_gradients(out_grads, axes)


class _GatherProducer:
    """The promise of an output of the whole batch."""

    def __init__(self, storage: Storage, stack: ReplicatedArray, axis: int) -> None:
        self._storage = storage
        self._stack = stack
        self._axis = axis

    def __call__(self) -> None:
        self._storage.assign(gather(self._stack, self._axis).value)

    @property
    def source(self) -> Any:
        """What the parts themselves wait for."""
        return self._stack.pending


def gradient_program(
    graph: Graph, wanted: tuple[int, ...], split_temp_buffers: bool = False
) -> Program:
    """The program of a bound graph with these gradients, and the options of now."""
    lowered = graph_of(optimized(graph.head_entries))
    return program_for(lowered, wanted, (False,) * len(wanted), split_temp_buffers)
