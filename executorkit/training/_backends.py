"""Where a step's results go that no NDArray shows: the optimizer's state, and gradients.

What a step trains: one executor, or a group of devices; its program and its arrays.

A step on a group whose slices run as a program each: uneven ones, or repeated contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ..errors import StepError, explain
from ..executor import Executor
from ..executor._buffers import Buffers
from ..executor._pending_step import PendingStep
from ..executor._validation import head_gradients
from ..lowering import Graph, graph_of, optimized
from ..ndarray import NDArray
from ..ndarray.storage import Storage
from ..optimizer import Updater
from ..parallel._batch_transfer import gather
from ..parallel._data_parallel_core import DataParallelCore
from ..parallel._pmap_executor import PmapExecutor
from ..parallel._replicated_array import ReplicatedArray
from ..parallel._replicated_state import replicated_state
from ..program import Program, program_for
from ..program._jit import InstrumentedJit
from ..program._train_step import StepSpec, UpdateFunction, step_function


class StateRef:
    """A value that a program replaces, as an NDArray's is: read, promised, fulfilled."""

    __slots__ = ("_promise_of", "value")

    def __init__(self, value: jax.Array) -> None:
        self.value: Any = value
        self._promise_of: Callable[[], Any] | None = None

    def assign(self, value: jax.Array) -> None:
        self.value = value

    def defer(self, producer: Callable[[], Any]) -> None:
        self.value = None
        self._promise_of = producer

    def set_result(self, producer: Callable[[], Any], value: jax.Array) -> bool:
        self.value = value
        self._promise_of = None
        return True


class DiscardedGradient:
    """In the place of a gradient that nobody asks for."""

    __slots__ = ()
    pending = None

    def defer(self, producer: Callable[[], Any]) -> None:
        """Nothing waits."""

    def set_result(self, producer: Callable[[], Any], value: Any) -> bool:
        return False


UNKEPT = DiscardedGradient()


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


class PerDeviceBackend:
    """What :class:`ExecutorBackend` is for one executor, for several that cannot run as one program.

    Forward and backward run on every device, without waiting; the first one sums the gradients and
    updates its weights and the state, and the others get copies of the weights. Nothing is donated.
    """

    def __init__(
        self, group: DataParallelCore, wanted: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        self._group = group
        self._axes = axes
        self._wanted = wanted
        self._members = [ExecutorBackend(e, wanted) for e in group.execs]
        self.arg_arrays = group.arg_arrays
        self.aux_arrays = group.aux_arrays

    def functions(self, plan: StepSpec) -> list[InstrumentedJit]:
        """The compiled functions of a step."""
        ((_, update, _),) = plan.parts
        programs = {id(m._program): m._program for m in self._members}
        return [*(p.forward_backward[True] for p in programs.values()), _update_program(update)]

    def start(self) -> _PerDeviceStep:
        """A training forward on all devices, to be gone back through and updated by."""
        return _PerDeviceStep(self._members, self._wanted)

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients of the whole batch for each output, a list with one for each device."""
        return scatter_head_gradients(self._group, out_grads, names, self._axes)

    def cell(self, value: jax.Array) -> StateRef:
        """What holds one array of the optimizer's state."""
        return self._members[0].cell(value)

    def value(self, cell: Any) -> jax.Array:
        """The array that a cell holds."""
        return cell.value

    def state_of(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        return updater.states[index]

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self._members[0].arg_arrays[i]

    def shown_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch."""
        outputs = zip(*(m.outputs for m in self._members), strict=True)
        return [gather(list(o), axis) for o, axis in zip(outputs, self._axes, strict=True)]


class _PerDeviceStep:
    """One step: what its devices start with, then backward and an update."""

    def __init__(self, members: Sequence[ExecutorBackend], wanted: tuple[int, ...]) -> None:
        self._members = members
        self._wanted = wanted
        for member in members:
            member.executor._pin(member._program.constant_inputs)
        self._inputs = [
            (
                tuple(a.value for a in m.arg_arrays),
                tuple(a.value for a in m.aux_arrays),
                m._next_key() if m._draws[True] else None,
            )
            for m in members
        ]
        self.executor = members[0]
        self.args, self.aux, self.key = self._inputs[0]
        self._heads: Sequence[Any] = ()

    def backward(self, heads: Sequence[Any]) -> None:
        """Takes the head gradients."""
        self._heads = heads

    def update(
        self, targets: Sequence[int], update: UpdateFunction, state: Any, numbers: Sequence[float],
        words: Any,
    ) -> None:  # fmt: skip
        """Computes the gradients and updates everything by them."""
        cells, tree = jax.tree.flatten(state, is_leaf=lambda x: hasattr(x, "set_result"))
        values = jax.tree.unflatten(tree, [c.value for c in cells])
        loss_scale = getattr(update, "loss_scale", None)
        scale = None if loss_scale is None else loss_scale(values)
        place = self.executor.executor._ctx.device
        found = [self._backward(k, scale) for k in range(len(self._members))]
        grads = [tuple(jax.device_put(g, place) for g in own) for own in found]
        weights = tuple(self.args[i] for i in self._wanted)
        new, state = _update_program(update)(
            weights, grads, values, np.array(numbers, np.float64), words
        )
        for cell, value in zip(cells, jax.tree.leaves(state), strict=True):
            cell.assign(value)
        for member in self._members:
            device = member.executor._ctx.device
            for i, value in zip(self._wanted, new, strict=True):
                member.arg_arrays[i].assign(jax.device_put(value, device), shared=True)

    def _backward(self, k: int, scale: Any) -> Sequence[Any]:
        """The gradients of one device, whose outputs and auxiliary states are written."""
        member, (args, aux, key) = self._members[k], self._inputs[k]
        heads = [None if h is None else h[k].value for h in self._heads]
        if scale is not None:
            scale = jax.device_put(scale, member.executor._ctx.device)
            heads = [None if h is None else h * scale.astype(h.dtype) for h in heads]
        program = member._program
        function = program.forward_backward[True]
        given = (args, aux, key, tuple(heads), ())
        outputs, _, states, grads = function(*given) if scale is None else function(*given, scale)
        for output, value in zip(member.outputs, outputs, strict=True):
            output.assign(value)
        for n, value in zip(program.backward_state_indices, states, strict=True):
            member.aux_arrays[n].assign(value)
        return grads


@lru_cache(maxsize=64)
def _update_program(update: UpdateFunction) -> InstrumentedJit:
    """The program ``(weights, gradients of each device, state, numbers, words) -> (weights,
    state)``."""

    def step(weights: Any, grads: Any, state: Any, numbers: Any, words: Any) -> Any:
        total = [sum(own[1:], start=own[0]) for own in zip(*grads, strict=True)]
        new, state = update(weights, tuple(total), state, numbers, words)
        return tuple(new), state

    return InstrumentedJit(step, "update")
