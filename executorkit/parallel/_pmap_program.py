"""A program on several devices, mapped over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jax.sharding import Mesh

from ..ndarray.array_statistics import statistics_rows
from ..ops.nn.moments import DEVICE_AXIS
from ..program import (
    REPLICATED_ARGS,
    Analysis,
    Arrays,
    BaseProgram,
    CompiledFunction,
    Cost,
    History,
    Program,
    StepSpec,
    make_step,
)
from ._job_steps import JoiningStep
from ._model_sharding import ProgramSharding, Spec, constrained_each
from ._pmap_function import PmapFunction, device_key, group_functions, shard_aval
from ._replicas import Replicas, spec_of
from ._state_sharding import LateUpdates, finish_of_step


class PmapProgram(BaseProgram):
    """A Program that takes replicated arrays and runs on all devices at once.

    In place of a PRNG key it takes the stacked key data of one key per device, or of one for each
    random operator. Analyses cover all forms of the program that it maps.

    averages_states
        whether steps with other processes make auxiliary states the means over all devices.
    """

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
        """Returns the pmapped form of a program; made once for the same arguments."""
        key = replicas, sharding, averages_states
        return program.derived(key, lambda: PmapProgram(program, *key))

    def _taking_key_data(self, jitted: CompiledFunction) -> PmapFunction:
        function, has_gradients = jitted.function, jitted.name.startswith("forward_backward")

        def mapped(args: Arrays, aux: Arrays, key_data: Any, *others: Any) -> Any:
            results = function(args, aux, device_key(key_data), *others)
            return self._constrained(results, has_gradients)

        return PmapFunction(mapped, jitted.name, self._replicas.mesh)

    def _mapped_backward(self, *args: Any) -> Any:
        grads = self.program.backward.function(*args)
        if self._sharding is None:
            return grads
        return self._sharding.gradients(grads, self.program.argnums)

    def _constrained(self, results: Any, has_gradients: bool) -> Any:
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
        """Returns the compiled training step, with the gradients summed over the devices, of all
        processes if the step joins them."""
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

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
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


def _statistics_function(mesh: Mesh) -> PmapFunction:
    function = partial(statistics_rows, platform=mesh.devices.flat[0].platform)
    return group_functions.get_or_make(
        ("statistics", mesh), lambda: PmapFunction(function, "statistics", mesh)
    )


def replicated_statistics_rows(replicas: Replicas, stacks: Arrays) -> jax.Array:
    """Rows of statistics of each device's entries of stacked arrays, sharded over the devices."""
    return _statistics_function(replicas.mesh)(tuple(stacks))


def _summing_step(
    program: Program, train: bool, spec: StepSpec, sharding: ProgramSharding | None
) -> Callable[..., Any]:
    def mapped(donated: Any, args: Any, aux: Any, key_data: Any, *others: Any) -> Any:
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
    """Returns sums (or means) of stacked arrays over their devices, stacked: one program."""
    return _reduction(mean, replicas.mesh, tuple(map(spec_of, stacks)))(tuple(stacks))
