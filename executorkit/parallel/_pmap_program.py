"""A program on several devices, mapped over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax

from ..context import Device
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
    mapped_options,
)
from ._divided_update import reduced, with_offsets
from ._joined_processes import JoiningStep
from ._pmap_function import PmapFunction, device_key, shard_aval
from ._replicas import Replicas


class PmapProgram(BaseProgram):
    """A Program that takes replicated arrays and runs on all devices at once.

    In place of a PRNG key it takes the stacked key data of one key per device, or of one for each
    random operator. Questions are
    answered for all forms of the program that it maps.
    """

    infer: tuple[PmapFunction, ...]
    forward: tuple[PmapFunction, ...]
    forward_backward: tuple[PmapFunction, ...]

    def __init__(self, program: Program, replicas: Replicas) -> None:
        self.program = program
        self._take_facts(program)
        self._devices = devices = replicas.devices
        self._train_steps: dict[tuple[bool, StepSpec], PmapFunction] = {}
        self.infer, self.forward, self.forward_backward = (
            tuple(_taking_key_data(function, devices) for function in pair)
            for pair in (program.infer, program.forward, program.forward_backward)
        )
        self._backward = PmapFunction(program.backward.function, "backward", devices)
        self.backward = self._backward

    def add_user(self, user: object) -> None:
        self.program.add_user(user)

    @staticmethod
    def of(program: Program, replicas: Replicas) -> PmapProgram:
        """The pmapped form of a program; made once for the same devices."""
        return program.derived(replicas, lambda: PmapProgram(program, replicas))

    @property
    def can_fuse_updates(self) -> bool:
        return True

    def step_function(self, train: bool, spec: StepSpec) -> PmapFunction:
        """The compiled training step, with the gradients summed over the devices, of all processes
        if the step joins them."""
        function = self._train_steps.get((train, spec))
        if function is None:
            options = mapped_options(self.program.compiler_options)
            if spec.joins_processes:
                job = Replicas.on(self._devices).of_job
                function = JoiningStep(self.program, train, spec, job, options)
            else:
                step = _summing_step(self.program, train, spec)
                function = PmapFunction(step, "step", self._devices, True, REPLICATED_ARGS, options)
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


@lru_cache(maxsize=64)
def _statistics_function(devices: tuple[Device, ...]) -> PmapFunction:
    function = partial(statistics_rows, platform=devices[0].platform)
    return PmapFunction(function, "statistics", devices)


def replicated_statistics_rows(replicas: Replicas, stacks: Arrays) -> jax.Array:
    """Rows of statistics of each device's entries of stacked arrays, sharded over the devices."""
    return _statistics_function(replicas.devices)(tuple(stacks))


def _summing_step(program: Program, train: bool, spec: StepSpec) -> Callable[..., Any]:
    on_device = with_offsets(spec, [()] * len(spec.updates))

    def reduce(grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]:
        return reduced(on_device, grads, partial(_sums, False)), states

    step = make_step(program, train, on_device, reduce)

    def mapped(donated: Any, args: Any, aux: Any, key_data: Any, *others: Any) -> Any:
        return step(donated, args, aux, device_key(key_data), *others)

    return mapped


def _taking_key_data(jitted: CompiledFunction, devices: tuple[Device, ...]) -> PmapFunction:
    function = jitted.function

    def mapped(args: Arrays, aux: Arrays, key_data: Any, *others: Any) -> Any:
        return function(args, aux, device_key(key_data), *others)

    return PmapFunction(mapped, jitted.name, devices)


def _sums(mean: bool, arrays: Arrays) -> tuple[jax.Array, ...]:
    reduce = jax.lax.pmean if mean else jax.lax.psum
    return tuple(reduce(x, DEVICE_AXIS).astype(x.dtype) for x in arrays)


@lru_cache(maxsize=64)
def _reduction(mean: bool, devices: tuple[Device, ...]) -> PmapFunction:
    return PmapFunction(partial(_sums, mean), "mean" if mean else "sum", devices)


def reduce_replicated(
    replicas: Replicas, stacks: Arrays, mean: bool = False
) -> tuple[jax.Array, ...]:
    """Sums (or means) of stacked arrays over their devices, as stacked arrays: one program."""
    return _reduction(mean, replicas.devices)(tuple(stacks))
