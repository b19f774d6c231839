"""The backends of a training step: one executor, one pmapped program, or a program per device.

A backend starts a step (a computation that an update can be attached to) and holds the arrays that
it changes: parameters, the optimizer's state, and the targets of gradients that nobody reads.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any, Protocol

import jax
import numpy as np

from ..errors import StepError
from ..executor import Executor, PendingStep, Runnable, head_gradients
from ..lowering import Graph, graph_of, optimized
from ..ndarray import NDArray
from ..ndarray.protocol import PendingValue, Producer
from ..ndarray.rollback import complete
from ..ndarray.storage import Storage
from ..optimizer import Updater
from ..optimizer.update_call import UpdatableStep, UpdateCall
from ..parallel import (
    DataParallelCore,
    PerDevice,
    PmapExecutor,
    ReplicatedArray,
    gather,
    replicated_state,
)
from ..program import CompiledFunction, Program, StepSpec, UpdateFunction, cached_code, program_for


class StateRef:
    """One array of an optimizer's state: a pending value without an NDArray."""

    __slots__ = ("_producer", "current")

    def __init__(self, value: jax.Array) -> None:
        self.current: jax.Array | None = value
        self._producer: Producer | None = None

    @property
    def value(self) -> jax.Array:
        """The contents, computed first if they are pending."""
        if self.current is None and self._producer is not None:
            self._producer()
        assert self.current is not None
        return self.current

    @property
    def pending(self) -> Producer | None:
        """The producer that reading would run; None if nothing has to be computed."""
        return None if self._producer is None else self._producer.source

    def defer(self, producer: Producer) -> None:
        """Lets the contents come from ``producer``."""
        self._producer = producer
        self.current = None

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Stores ``value`` and returns True if ``producer`` is still the one it waits for."""
        if self._producer is not producer:
            return False
        self.current = value
        self._producer = None
        return True

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the contents."""
        self.current = value
        self._producer = None


class DiscardedGradient:
    """The target of a gradient that nobody reads: it knows its producer, and drops the result."""

    __slots__ = ("_producer",)

    current = None

    def __init__(self) -> None:
        self._producer: weakref.ref[Producer] | None = None

    @property
    def value(self) -> jax.Array:
        """Raises StepError: it is never stored."""
        raise StepError("Step", "the gradients of a training step are not stored")

    @property
    def pending(self) -> Producer | None:
        """The step that computes the gradient."""
        return None if self._producer is None else self._producer()

    def defer(self, producer: Producer) -> None:
        """Remembers the producer, as long as it lives."""
        self._producer = weakref.ref(producer)

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Drops the result."""
        return False

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Drops the value."""


class TrainingStep(Producer, Protocol):
    """One training step on a backend, begun by its forward."""

    def needs_head_gradients(self) -> tuple[bool, ...]:
        """For each output, whether ``backward`` needs a head gradient for it."""
        ...

    def backward(self, heads: Sequence[Any]) -> None:
        """Defers the gradients to the backend's gradient targets."""
        ...

    def withdraw(self) -> object:
        """Gives up what has not run."""
        ...


class Backend(Protocol):
    """The arrays and programs of a training step.

    lock
        held during a step.
    arg_arrays, aux_arrays
        for each argument or auxiliary state an NDArray, or the arrays of all devices.
    weights, gradient_targets
        the parameters that are trained, and a target for the gradient of each.
    """

    @property
    def lock(self) -> RLock: ...

    @property
    def arg_arrays(self) -> Sequence[Any]: ...

    @property
    def aux_arrays(self) -> Sequence[Any]: ...

    @property
    def weights(self) -> Sequence[PendingValue]: ...

    @property
    def gradient_targets(self) -> Sequence[PendingValue]: ...

    def functions(self, spec: StepSpec) -> list[CompiledFunction]:
        """The compiled functions of a step."""
        ...

    def start(self) -> TrainingStep:
        """Begins a step: a training forward, deferred."""
        ...

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients for each output, as the step's ``backward`` takes them."""
        ...

    def state_ref(self, value: jax.Array) -> PendingValue:
        """A reference to one array of the optimizer's state, on all devices that update."""
        ...

    def state_value(self, ref: Any) -> jax.Array:
        """The array behind such a reference, on the first device."""
        ...

    def updater_state(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        ...

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        ...

    def whole_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch."""
        ...


class ExecutorBackend(Runnable[NDArray]):
    """An executor's arrays, with a program that has gradients of the parameters alone."""

    def __init__(self, executor: Executor, argnums: tuple[int, ...]) -> None:
        if executor.group2ctx or executor.runs_eagerly:
            raise StepError(
                "Step",
                "an executor with group2ctx or Python operators cannot be one program",
                hint="forward, backward, then tx.update on executor.grads()",
            )
        self.device_program = gradient_program(executor.graph, argnums, executor.split_temp_buffers)
        super().__init__(
            executor.graph,
            self.device_program,
            executor.arg_arrays,
            executor.aux_arrays,
            executor.outputs,
            [DiscardedGradient() for _ in argnums],
            accumulate=[False] * len(argnums),
            keep_gradients=False,
            lock=executor.lock,
        )
        self.device_program.add_user(self)
        self.context = executor.context
        self._executor = executor

    @property
    def weights(self) -> list[NDArray]:
        """The parameters that are trained."""
        return [self.arg_arrays[i] for i in self.program.argnums]

    def next_key(self) -> Any:
        """A key from the stream of the executor's context."""
        return self._executor.next_key()

    def key_aval(self) -> Any:
        """The shape and dtype of a key."""
        return self._executor.key_aval()

    def filled_like(self, array: NDArray, number: float) -> jax.Array:
        """New contents for an array: one number everywhere."""
        return self._executor.filled_like(array, number)

    def functions(self, spec: StepSpec) -> list[CompiledFunction]:
        """The compiled functions of a step: one."""
        return [self.program.step_function(True, spec)]

    def start(self) -> PendingStep:
        """Begins a step: a training forward, deferred."""
        self.overwrite_constants()
        return PendingStep(self, True)

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients for each output, None where none is given."""
        return list(head_gradients(out_grads, self))

    def state_ref(self, value: jax.Array) -> StateRef:
        """A reference to one array of the optimizer's state."""
        return StateRef(jax.device_put(value, self.context.device))

    def state_value(self, ref: StateRef) -> jax.Array:
        """The array behind such a reference."""
        return ref.value

    def updater_state(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        return updater.states[index]

    def first(self, i: int) -> NDArray:
        """Argument ``i``."""
        return self.arg_arrays[i]

    def whole_outputs(self) -> list[NDArray]:
        """The outputs of the last step."""
        return self.outputs


class PmapBackend:
    """A group whose devices run one pmapped program.

    runnable
        the group's arrays, with a program that has gradients of the parameters alone.
    """

    def __init__(
        self, core: DataParallelCore, argnums: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        pmapped = core.pmapped
        assert pmapped is not None
        n_args = len(pmapped.arg_arrays)
        self.runnable = PmapExecutor(
            core.symbol,
            core.graph,
            core.contexts,
            gradient_program(core.graph, argnums, core.split_temp_buffers),
            pmapped.arg_arrays,
            [None] * n_args,
            ["null"] * n_args,
            pmapped.aux_arrays,
            pmapped.outputs,
            gradient_targets=[DiscardedGradient() for _ in argnums],
            lock=pmapped.lock,
        )
        self.arg_arrays = pmapped.arg_arrays
        self.aux_arrays = pmapped.aux_arrays
        self.weights = [self.arg_arrays[i] for i in argnums]
        self.lock = self.runnable.lock
        self._core = core
        self._axes = axes

    @property
    def gradient_targets(self) -> Sequence[PendingValue]:
        """The targets of the parameters' gradients."""
        return self.runnable.gradient_targets

    def functions(self, spec: StepSpec) -> list[CompiledFunction]:
        """The compiled functions of a step: one, of all devices."""
        return [self.runnable.program.step_function(True, spec)]

    def start(self) -> PendingStep:
        """Begins a step: a training forward on all devices, deferred."""
        self.runnable.forward(True)
        step = self.runnable.last_step
        assert step is not None
        return step

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[Any]:
        """Head gradients of the whole batch for each output, cut for the devices."""
        heads = scatter_head_gradients(self._core, out_grads, names, self._axes)
        return [h.value if isinstance(h, ReplicatedArray) else None for h in heads]

    def state_ref(self, value: jax.Array) -> ReplicatedArray:
        """A reference to one array of the optimizer's state, on all devices."""
        stacked = self.runnable.replicas.broadcast(value)
        return ReplicatedArray(self.runnable.contexts, value.shape, value.dtype, stacked)

    def state_value(self, ref: ReplicatedArray) -> jax.Array:
        """The array behind such a reference, on the first device."""
        return ref[0].jax

    def updater_state(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter, on all devices."""
        return replicated_state(updater, index, self.arg_arrays[0])

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self.arg_arrays[i][0]

    def whole_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch, brought together when they are read."""
        contexts = self.runnable.contexts
        outputs = []
        for output, axis in zip(self.runnable.outputs, self._axes, strict=True):
            if axis < 0:
                outputs.append(output[0])
                continue
            shape = list(output.shape)
            shape[axis] *= len(contexts)
            present = ReplicatedArray(contexts, output.shape, output.dtype, output.value)
            storage = Storage(tuple(shape), output.dtype)
            storage.defer(_GatherProducer(storage, present, axis))
            outputs.append(NDArray.from_storage(storage, 0, tuple(shape), contexts[0]))
        return outputs


class PerDeviceBackend:
    """A group whose devices cannot run as one program: uneven slices, or repeated contexts.

    Forward and backward run on every device, without waiting; the first one sums the gradients and
    updates its weights and the state, and the others get copies of the weights. Nothing is donated.
    """

    def __init__(
        self, core: DataParallelCore, argnums: tuple[int, ...], axes: Sequence[int]
    ) -> None:
        self._core = core
        self._axes = axes
        self._members = [ExecutorBackend(e, argnums) for e in core.execs]
        self.lock = self._members[0].lock
        self.arg_arrays = core.arg_arrays
        self.aux_arrays = core.aux_arrays
        self.weights = self._members[0].weights
        self.gradient_targets = [DiscardedGradient() for _ in argnums]

    def functions(self, spec: StepSpec) -> list[CompiledFunction]:
        """The compiled functions of a step: those of each device, and the update."""
        ((_, update, _),) = spec.updates
        programs = {id(m.device_program): m.device_program for m in self._members}.values()
        return [*(p.forward_backward[True] for p in programs), _update_program(update)]

    def start(self) -> _PerDeviceStep:
        """Begins a step on all devices: their inputs as they are now."""
        return _PerDeviceStep(self._members, self.gradient_targets)

    def heads(self, out_grads: Any, names: Sequence[str]) -> list[PerDevice | None]:
        """Head gradients of the whole batch for each output, a list with one for each device."""
        return scatter_head_gradients(self._core, out_grads, names, self._axes)

    def state_ref(self, value: jax.Array) -> StateRef:
        """A reference to one array of the optimizer's state, on the first device."""
        return self._members[0].state_ref(value)

    def state_value(self, ref: StateRef) -> jax.Array:
        """The array behind such a reference."""
        return ref.value

    def updater_state(self, updater: Updater, index: Any) -> Any:
        """An updater's state of one parameter."""
        return updater.states[index]

    def first(self, i: int) -> NDArray:
        """Argument ``i`` on the first device."""
        return self._members[0].arg_arrays[i]

    def whole_outputs(self) -> list[NDArray]:
        """The outputs of the last step for the whole batch."""
        outputs = zip(*(m.outputs for m in self._members), strict=True)
        return [gather(list(o), axis) for o, axis in zip(outputs, self._axes, strict=True)]


class _PerDeviceStep(UpdatableStep):
    """One step on several devices by a program each: a snapshot of their inputs, which runs when
    an update is attached."""

    def __init__(
        self, members: Sequence[ExecutorBackend], gradient_targets: Sequence[DiscardedGradient]
    ) -> None:
        self._members = members
        self._gradient_targets = gradient_targets
        for member in members:
            member.overwrite_constants()
        self._inputs = [
            (
                tuple(a.value for a in m.arg_arrays),
                tuple(a.value for a in m.aux_arrays),
                m.next_key() if m.uses_rng[True] else None,
            )
            for m in members
        ]
        self._heads: Sequence[PerDevice | None] = ()
        self._updated = False

    def __call__(self) -> None:
        """Does nothing: no array waits for the step."""

    force = __call__

    @property
    def source(self) -> Producer:
        """The step itself."""
        return self

    def needs_head_gradients(self) -> tuple[bool, ...]:
        """For each output, whether ``backward`` needs a head gradient for it."""
        return self._members[0].program.needs_head_gradient(*self._inputs[0])

    def backward(self, heads: Sequence[PerDevice | None]) -> None:
        """Takes the head gradients."""
        self._heads = heads
        for target in self._gradient_targets:
            target.defer(self)

    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        """Computes the gradients and updates everything by them; False without an update.

        Everything is computed before anything is stored.
        """
        call = prepare()
        if call is None:
            return False
        writes = self._compute(call)
        complete(lambda: self._store(call, writes))
        return True

    def _compute(self, call: UpdateCall) -> list[tuple[PendingValue, jax.Array, bool]]:
        """Arrays with their new contents, and whether other arrays may share these."""
        refs, tree = jax.tree.flatten(call.state)
        state = jax.tree.unflatten(tree, [ref.value for ref in refs])
        loss_scale = getattr(call.update, "loss_scale", None)
        scale = None if loss_scale is None else loss_scale(state)
        first = self._members[0]
        argnums = first.program.argnums
        by_device = [self._gradients(k, scale) for k in range(len(self._members))]
        device = first.context.device
        grads_on_first = [jax.device_put(tuple(grads), device) for *_, grads in by_device]
        args = self._inputs[0][0]
        new_weights, new_state = _update_program(call.update)(
            tuple(args[i] for i in argnums),
            grads_on_first,
            state,
            np.array(call.hyperparams, np.float64),
            call.key_data,
        )
        writes: list[tuple[PendingValue, jax.Array, bool]] = [
            (ref, value, False) for ref, value in zip(refs, jax.tree.leaves(new_state), strict=True)
        ]
        for member, (outputs, states, _) in zip(self._members, by_device, strict=True):
            for i, value in zip(argnums, new_weights, strict=True):
                copy = jax.device_put(value, member.context.device)
                writes.append((member.arg_arrays[i], copy, True))
            aux = [member.aux_arrays[n] for n in member.program.backward_state_indices]
            writes += [(a, value, False) for a, value in zip(aux, states, strict=True)]
            results = zip(member.outputs, outputs, strict=True)
            writes += [(output, value, False) for output, value in results]
        return writes

    def _store(
        self, call: UpdateCall, writes: Sequence[tuple[PendingValue, jax.Array, bool]]
    ) -> None:
        self._updated = call.attached = True
        for array, value, shared in writes:
            array.assign(value, shared)

    def withdraw(self) -> bool:
        """True if the update has run: there is nothing to be given up before."""
        return self._updated

    def _gradients(self, k: int, scale: Any) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """The outputs, the new auxiliary states and the gradients of one device."""
        member, (args, aux, key) = self._members[k], self._inputs[k]
        heads = [None if h is None else h[k].value for h in self._heads]
        operands: tuple[Any, ...] = (args, aux, key, tuple(heads))
        if scale is not None:
            scale = jax.device_put(scale, member.context.device)
            heads = [None if h is None else h * scale.astype(h.dtype) for h in heads]
            operands = (args, aux, key, tuple(heads), (), scale)
        outputs, _, states, grads = member.program.forward_backward[True](*operands)
        return outputs, states, grads


@cached_code("group updates", 64, 0.02)
def _update_program(update: UpdateFunction) -> CompiledFunction:
    """The program ``(weights, gradients of each device, state, hyperparams, key_data) ->
    (weights, state)``."""

    def step(weights: Any, grads: Any, state: Any, hyperparams: Any, key_data: Any) -> Any:
        totals = [sum(parts[1:], start=parts[0]) for parts in zip(*grads, strict=True)]
        new, state = update(weights, tuple(totals), state, hyperparams, key_data)
        return tuple(new), state

    return CompiledFunction(step, "update", trains=True)


class _GatherProducer:
    """The producer of an output of the whole batch, from those of the devices."""

    __slots__ = ("__weakref__", "_array", "_axis", "_storage")

    def __init__(self, storage: Storage, array: ReplicatedArray, axis: int) -> None:
        self._storage = storage
        self._array = array
        self._axis = axis

    def __call__(self) -> None:
        self._storage.assign(gather(self._array, self._axis).value)

    force = __call__

    @property
    def source(self) -> Producer | None:
        """The producer that the devices' outputs wait for."""
        return self._array.pending


def scatter_head_gradients(
    core: DataParallelCore, out_grads: Any, names: Sequence[str], axes: Sequence[int]
) -> list[PerDevice | None]:
    """Head gradients of a whole batch, as ``backward`` takes them, cut for a group's devices."""
    if isinstance(out_grads, Mapping):
        out_grads = [out_grads.get(name) for name in names]
    elif not isinstance(out_grads, list | tuple):
        out_grads = [out_grads] + [None] * (len(names) - 1)
    return core.head_gradients(out_grads, axes)


def gradient_program(
    graph: Graph, argnums: tuple[int, ...], split_temp_buffers: bool = False
) -> Program:
    """The program of a bound graph with these gradients, and the present options."""
    lowered = graph_of(optimized(graph.head_entries))
    return program_for(lowered, argnums, split_temp_buffers)
