"""A symbol on several devices: its program, mapped over them, and its replicated arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from .._support.annotations import DType, Function, Key, Raw, Tree
from ..arrays.protocol import PendingValue
from ..arrays.random_state import next_key_data, wrap_key
from ..calls.rollback import NO_ROLLBACK, Rollback
from ..context import Context
from ..executor import BoundGraph, Executor, PendingStep, PrecompileSpec, check_head_gradients
from ..lowering import Graph
from ..ndarray import NDArray
from ..ops.nn.moments import DEVICE_AXIS
from ..ops.schema.inference import is_fully_known
from ..program import (
    REPLICATED_ARGS,
    Analysis,
    Arrays,
    BaseProgram,
    CompiledFunction,
    Cost,
    History,
    Program,
    ProgramCall,
    StepSpec,
    UpdateFunction,
    make_step,
)
from ..symbol import Symbol
from ._job_steps import JoiningStep, note_joint_step
from ._model_sharding import ProgramSharding, constrained_each
from ._pmap_function import PmapFunction, device_key, group_functions, shard_aval
from ._replicas import Replicas, Spec, spec_of
from ._replicated_array import PerDevice, ReplicatedArray
from ._state_sharding import LateUpdates, finish_of_step, update_in_program


class PmapProgram(BaseProgram):
    """A Program that takes replicated arrays and runs on all devices at once. In place of a PRNG
    key it takes the stacked key data of one key per device, or of one for each random operator.
    Analyses cover all its forms. ``averages_states``: steps with other processes average these."""

    infer: tuple[PmapFunction, ...]
    forward: tuple[PmapFunction, ...]
    forward_backward: tuple[PmapFunction, ...]

    def __init__(
        self,
        program: Program,
        replicas: Replicas,
        sharding: ProgramSharding | None = None,
        averages_states: bool = True,
    ) -> None:
        self.program = program
        self._averages_states = averages_states
        self._take_facts(program)
        self._replicas = replicas
        self._sharding = sharding
        self._train_steps: dict[tuple[bool, StepSpec], PmapFunction] = {}
        self.infer, self.forward, self.forward_backward = (
            tuple(self._taking_key_data(function) for function in pair)
            for pair in (program.infer, program.forward, program.forward_backward)
        )
        self._backward = PmapFunction(self._mapped_backward, "backward", replicas.mesh)
        self.backward = self._backward

    def add_user(self, user: object) -> None:
        self.program.add_user(user)

    @staticmethod
    def of(
        program: Program,
        replicas: Replicas,
        sharding: ProgramSharding | None = None,
        averages_states: bool = True,
    ) -> PmapProgram:
        key = replicas, sharding, averages_states
        return program.derived(key, lambda: PmapProgram(program, *key))

    def _taking_key_data(self, jitted: CompiledFunction) -> PmapFunction:
        function, has_gradients = jitted.function, jitted.name.startswith("forward_backward")

        def mapped(args: Arrays, aux: Arrays, key_data: Raw, *others: Any) -> Tree:
            results = function(args, aux, device_key(key_data), *others)
            return self._constrained(results, has_gradients)

        return PmapFunction(mapped, jitted.name, self._replicas.mesh)

    def _mapped_backward(self, *args: Tree) -> Tree:
        grads = self.program.backward.function(*args)
        if self._sharding is None:
            return grads
        return self._sharding.gradients(grads, self.program.argnums)

    def _constrained(self, results: Tree, has_gradients: bool) -> Tree:
        sharding, program = self._sharding, self.program
        if sharding is None:
            return results
        outputs, forward_states, *others = results
        constrained = [
            sharding.outputs(outputs),
            sharding.states(forward_states, program.forward_state_indices),
        ]
        if others:
            backward_states, last = others
            constrained.append(sharding.states(backward_states, program.backward_state_indices))
            grads = sharding.gradients(last, program.argnums) if has_gradients else last
            constrained.append(grads)
        return tuple(constrained)

    @property
    def can_fuse_updates(self) -> bool:
        return True

    def step_function(self, train: bool, spec: StepSpec) -> PmapFunction:
        """Returns the step with gradients summed over the devices, of all processes if it joins."""
        function = self._train_steps.get((train, spec))
        if function is None:
            if spec.joins_processes:
                job, sharding = self._replicas.of_job, self._sharding
                averages = self._averages_states
                function = JoiningStep(self.program, train, spec, job, sharding, averages)
            else:
                step = _summing_step(self.program, train, spec, self._sharding)
                mesh = self._replicas.mesh
                finish = finish_of_step(spec)
                function = PmapFunction(step, "step", mesh, True, REPLICATED_ARGS, finish=finish)
            self._train_steps[train, spec] = function
        return function

    @property
    def functions(self) -> tuple[PmapFunction, ...]:
        return (
            *self.infer, *self.forward, *self.forward_backward, self._backward,
            *self._train_steps.values(),
        )  # fmt: skip

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Key) -> tuple[bool, ...]:
        args, aux = (tuple(map(shard_aval, arrays)) for arrays in (args, aux))
        prng_key = None if key is None else jax.eval_shape(lambda: jax.random.key(0))
        return self.program.needs_head_gradient(args, aux, prng_key)

    def analyse(self) -> Analysis:
        return self.program.analyse()

    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        return self.program.hlo(function, optimized)

    def cost(self, function: str | None = None) -> Cost:
        return self.program.cost(function)

    def explain(self) -> History:
        return self.program.explain()


def _summing_step(
    program: Program, train: bool, spec: StepSpec, sharding: ProgramSharding | None
) -> Function:
    def mapped(donated: Tree, args: Tree, aux: Tree, key_data: Raw, *others: Any) -> Tree:
        late = LateUpdates(spec)

        def reduce(grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]:
            return late.sums(grads, partial(_sums, False)), states

        step = make_step(program, train, late.spec, reduce)
        results = step(donated, args, aux, device_key(key_data), *others)
        if sharding is not None:
            return sharding.of_step(program, spec, results)
        return late.with_operands(results)

    return mapped


def _sums(mean: bool, arrays: Arrays) -> tuple[jax.Array, ...]:
    if jax.lax.axis_size(DEVICE_AXIS) == 1:  # XLA refuses a sum over one replica of several devices
        return tuple(arrays)
    reduce = jax.lax.pmean if mean else jax.lax.psum
    return tuple(reduce(x, DEVICE_AXIS).astype(x.dtype) for x in arrays)


def _reduction(mean: bool, mesh: Mesh, specs: tuple[Spec, ...]) -> PmapFunction:
    def reduction(arrays: Arrays) -> tuple[jax.Array, ...]:
        return constrained_each(_sums(mean, arrays), specs)

    return group_functions.get_or_make(
        ("reduction", mean, mesh, specs),
        lambda: PmapFunction(reduction, "mean" if mean else "sum", mesh),
    )


def reduce_replicated(
    replicas: Replicas, stacks: Arrays, mean: bool = False
) -> tuple[jax.Array, ...]:
    return _reduction(mean, replicas.mesh, tuple(map(spec_of, stacks)))(tuple(stacks))


class PmapExecutor(BoundGraph[ReplicatedArray]):
    """A symbol on all devices as one pmapped program, deferred as an Executor is; ``execs`` are
    Executors of the devices, on members of the replicated arrays. The ``gradient_targets`` of a
    training step take the gradients in place of ``grad_arrays``, and updates consume them."""

    def __init__(
        self,
        symbol: Symbol,
        graph: Graph,
        contexts: Sequence[Context],
        program: Program,
        arg_arrays: Sequence[ReplicatedArray],
        grad_arrays: Sequence[ReplicatedArray | None],
        grad_req: Sequence[str],
        aux_arrays: Sequence[ReplicatedArray],
        outputs: Sequence[ReplicatedArray],
        gradient_targets: Sequence[PendingValue] | None = None,
        lock: threading.RLock | None = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.grad_req = list(grad_req)
        self.grad_arrays = list(grad_arrays)
        self.replicas = Replicas.of(contexts)
        #: The program of one device, which the devices' program maps.
        self.device_program = program
        targets = gradient_targets or [g for g in grad_arrays if g is not None]
        super().__init__(
            graph,
            PmapProgram.of(program, self.replicas, _sharding_of(arg_arrays, aux_arrays)),
            arg_arrays,
            aux_arrays,
            outputs,
            targets,
            accumulate=[self.grad_req[i] == "add" for i in program.argnums],
            keep_gradients=gradient_targets is None,
            lock=lock,
        )
        #: The last forward of all devices together.
        self.last_step: PendingStep | None = None
        #: True if the devices have run their own programs since: where a script runs one of
        #: ``execs`` by itself, or watches one with a monitor. Results are the same.
        self.runs_separately = False
        program.add_user(self)

    @cached_property
    def execs(self) -> list[ReplicaExecutor]:
        return [ReplicaExecutor(self, k) for k in range(len(self.contexts))]

    @property
    def known_execs(self) -> Sequence[ReplicaExecutor]:
        """Those of ``execs`` that have been asked for: all, or none."""
        return self.__dict__.get("execs", ())

    def run_separately(self) -> None:
        self.runs_separately = True

    # -- what a pending step needs ---------------------------------------------------------------

    def next_key(self) -> jax.Array:
        """Draws one key's data per device from its context's stream. Every process of a job draws
        from the streams of one process with all devices, so that each saves the state of all."""
        if not self.joins_processes:
            return self.replicas.keys(self.contexts)
        kinds = [c.device_type for c in self.contexts] * jax.process_count()
        width = self.replicas.width
        drawn = [next_key_data(Context(kind, k * width)) for k, kind in enumerate(kinds)]
        first = jax.process_index() * len(self.contexts)
        return self.replicas.from_host(np.stack(drawn[first : first + len(self.contexts)]))

    def key_aval(self) -> jax.ShapeDtypeStruct:
        return self._aval(self.replicas, (2,), "uint32")

    def filled_like(self, array: ReplicatedArray, number: float) -> jax.Array:
        return array.replicas.filled(array.shape, array.dtype, number)

    def device_key(self, key_data: Raw, k: int) -> Tree:
        return None if key_data is None else wrap_key(self.replicas.split(key_data, k))

    def update_for(
        self,
        update: UpdateFunction,
        weights: Sequence[ReplicatedArray],
        state: Sequence[PendingValue],
    ) -> UpdateFunction:
        return update_in_program(update, weights, state)

    def note_step(self, results: Tree, undo: Sequence[Callable[[], object]]) -> None:
        note_joint_step(results, [self.arg_arrays[i] for i in self.program.argnums], undo)

    @staticmethod
    def _aval(replicas: Replicas, shape: tuple[int, ...], dtype: DType) -> jax.ShapeDtypeStruct:
        stacked = (len(replicas), *shape)
        return jax.ShapeDtypeStruct(stacked, dtype, sharding=replicas.sharding)

    def calls(self, spec: PrecompileSpec) -> list[ProgramCall]:
        args, aux, outputs = (
            tuple([self._aval(a.replicas, a.shape, a.dtype) for a in arrays])
            for arrays in (self.arg_arrays, self.aux_arrays, self.outputs)
        )
        return list(spec.calls(self, args, aux, outputs, with_update=True))

    # -- running -----------------------------------------------------------------------------------

    def forward(self, is_train: bool) -> None:
        execs = self.known_execs
        self.runs_separately = any(e.is_monitored for e in execs)
        if self.runs_separately:
            for executor in execs:
                executor.forward(is_train)
            return
        for executor in execs:
            executor.forget_step()
        self.overwrite_constants()
        with Rollback(streams=True) if self.uses_rng[is_train] else NO_ROLLBACK:
            self.last_step = PendingStep(self, is_train)

    def backward(self, heads: Sequence[PerDevice | None]) -> None:
        if self.runs_separately:
            for k, executor in enumerate(self.execs):
                executor.backward([None if h is None else h[k] for h in heads])
            return
        step = self.last_step
        if step is None:
            self.overwrite_constants()
            self.last_step = step = PendingStep(self, True)
        values = tuple([h.value if isinstance(h, ReplicatedArray) else None for h in heads])
        needed = self.program.may_need_head_gradient
        if any(n and h is None for n, h in zip(needed, values, strict=True)):
            check_head_gradients(values, self.output_names, step.needs_head_gradients())
        step.backward(values)


def _sharding_of(
    args: Sequence[ReplicatedArray], aux: Sequence[ReplicatedArray]
) -> ProgramSharding | None:
    if next(iter((*args, *aux))).replicas.width == 1:
        return None
    return ProgramSharding(*(tuple([a.replicas.spec for a in arrays]) for arrays in (args, aux)))


class ReplicaExecutor(Executor):
    """The executor of one device of a group, on its members of the group's arrays. ``backward``
    after the group's ``forward`` goes back through this device's part of it."""

    def __init__(self, group: PmapExecutor, k: int) -> None:
        super().__init__(
            group.symbol,
            group.contexts[k],
            [a[k] for a in group.arg_arrays],
            [None if g is None else g[k] for g in group.grad_arrays],
            group.grad_req,
            [a[k] for a in group.aux_arrays],
            outputs=[o[k] for o in group.outputs],
        )
        self._group = group
        self._position = k

    def forget_step(self) -> None:
        self.last_step = None

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        self._group.run_separately()
        return super().forward(is_train, **kwargs)

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        group_step = self._group.last_step
        if self.last_step is None and group_step is not None:
            key = self._group.device_key(group_step.key, self._position)
            self.last_step = PendingStep(self, group_step.train, key)
        super().backward(out_grads, is_train)


def replicated_outputs(
    contexts: Sequence[Context], shapes: Sequence[Any], dtypes: Sequence[str | None]
) -> list[ReplicatedArray]:
    assert all(is_fully_known(s) for s in shapes)
    forms = zip(shapes, dtypes, strict=True)
    return [ReplicatedArray(contexts, s, d or "float32") for s, d in forms]
