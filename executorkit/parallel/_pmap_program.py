"""One program on several devices: ``jax.pmap``.

``pmap`` is ``jit(shard_map)`` since JAX 0.8, and costs the same (measured on 8 CPU devices with 160
arrays: 1.17 and 1.11 ms a call). This is the only module that knows which of them runs. Training
steps donate their parameters and are ``jit(shard_map)``: ``pmap`` calls its program from Python,
where an interrupt could lose the results (see ``program/_donation.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from ..context import Device
from ..jax_internals import in_x64
from ..ndarray.array_statistics import statistics_rows
from ..ndarray.random_state import wrap_key
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
from ._replicas import Replicas


class PmapFunction(CompiledFunction):
    """A function mapped over the leading axis of its arguments, one entry per device.

    Of the compiler's options a training step takes :func:`mapped_options`. The others gain nothing:
    they have all cores work on one convolution, and mapped devices have one core each.
    """

    __slots__ = ("devices", "replicated")

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        devices: tuple[Device, ...],
        donates: bool = False,
        replicated: tuple[int, ...] = (),
        compiler_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.devices = devices
        self.replicated = replicated
        super().__init__(function, name, donates, compiler_options)

    def transform(self, traced: Callable[..., Any]) -> Any:
        if not self.donates:
            return jax.pmap(traced, axis_name=DEVICE_AXIS, devices=self.devices)

        def shard(*args: Any) -> Any:
            parts = [
                x if i in self.replicated else jax.tree.map(lambda s: jax.lax.squeeze(s, (0,)), x)
                for i, x in enumerate(args)
            ]
            return jax.tree.map(lambda x: jax.lax.expand_dims(x, (0,)), traced(*parts))

        def mapped(*args: Any) -> Any:
            whole, split = PartitionSpec(), PartitionSpec(DEVICE_AXIS)
            specs = tuple(whole if i in self.replicated else split for i in range(len(args)))
            mesh = Mesh(np.array(self.devices), (DEVICE_AXIS,))
            return jax.shard_map(
                shard, mesh=mesh, in_specs=specs, out_specs=split, check_vma=False
            )(*args)

        mapped.__name__ = mapped.__qualname__ = self.name
        return jax.jit(mapped, donate_argnums=0, compiler_options=self.compiler_options)

    @in_x64
    def jaxpr(self, *args: Any) -> Any:
        """The jaxpr of what each device runs."""
        parts = [
            x if i in self.replicated else jax.tree.map(_shard_aval, x) for i, x in enumerate(args)
        ]
        env = [(DEVICE_AXIS, len(self.devices))]
        return jax.make_jaxpr(self.function, axis_env=env)(*parts).jaxpr


def _shard_aval(stack: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stack.shape[1:], stack.dtype)


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
        """False if other processes have gradients too."""
        return jax.process_count() == 1

    def step_function(self, train: bool, spec: StepSpec) -> PmapFunction:
        """The compiled training step, with the gradients summed over the devices."""
        function = self._train_steps.get((train, spec))
        if function is None:
            step = make_step(self.program, train, spec, partial(_reduce_shards, False))

            def mapped(donated: Any, args: Any, aux: Any, key_data: Any, *others: Any) -> Any:
                return step(donated, args, aux, _device_key(key_data), *others)

            options = mapped_options(self.program.compiler_options)
            function = PmapFunction(mapped, "step", self._devices, True, REPLICATED_ARGS, options)
            self._train_steps[train, spec] = function
        return function

    @property
    def functions(self) -> tuple[PmapFunction, ...]:
        return (
            *self.infer, *self.forward, *self.forward_backward, self._backward,
            *self._train_steps.values(),
        )  # fmt: skip

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
        args, aux = (tuple(map(_shard_aval, arrays)) for arrays in (args, aux))
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


def _taking_key_data(jitted: CompiledFunction, devices: tuple[Device, ...]) -> PmapFunction:
    function = jitted.function

    def mapped(args: Arrays, aux: Arrays, key_data: Any, *others: Any) -> Any:
        return function(args, aux, _device_key(key_data), *others)

    return PmapFunction(mapped, jitted.name, devices)


def _device_key(key_data: Any) -> Any:
    """A device's key, or its rows of key data, one for each random operator."""
    return wrap_key(key_data) if key_data is not None and key_data.ndim == 1 else key_data


def _reduce_shards(mean: bool, arrays: Arrays) -> tuple[jax.Array, ...]:
    reduce = jax.lax.pmean if mean else jax.lax.psum
    return tuple(reduce(x, DEVICE_AXIS).astype(x.dtype) for x in arrays)


@lru_cache(maxsize=64)
def _reduction(mean: bool, devices: tuple[Device, ...]) -> PmapFunction:
    return PmapFunction(partial(_reduce_shards, mean), "mean" if mean else "sum", devices)


def reduce_replicated(
    replicas: Replicas, stacks: Arrays, mean: bool = False
) -> tuple[jax.Array, ...]:
    """Sums (or means) of stacked arrays over the devices of all processes, as stacked arrays.

    One program for all arrays. With several processes every one of them has to call it, with
    arrays of the same shapes: they wait for each other.
    """
    return _reduction(mean, replicas.everywhere())(tuple(stacks))
