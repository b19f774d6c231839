"""One program on several devices: ``jax.pmap``.

``pmap`` is ``jit(shard_map)`` since JAX 0.8, and costs the same (measured on 8 CPU devices with 160
arrays: 1.17 and 1.11 ms a call). This is the only module that knows which of them runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax

from ..context import Device
from ..ndarray.array_statistics import statistics_rows
from ..ndarray.random_state import wrap_key
from ..ops.nn.moments import AXIS
from ..program import Program
from ..program._jit import InstrumentedJit
from ..program._program import Arrays
from ..program._train_step import DONATED_ARG, REPLICATED_ARGS, StepSpec, make_step
from ..program.protocol import Totals
from ._replicas import Replicas


class PmapFunction(InstrumentedJit):
    """A function mapped over the leading axis of its arguments, one entry per device.

    It takes no options of the compiler: what they gain on CPUs is the use of all cores for one
    convolution, and mapped devices have one core each (measured: nothing gained with ResNet-50,
    VGG-16, MobileNet and LeNet on two devices).
    """

    __slots__ = ("axes", "devices")

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        devices: tuple[Device, ...],
        donate: tuple[int, ...] = (),
        axes: Any = 0,
    ) -> None:
        self.devices = devices
        self.axes = axes
        super().__init__(function, name, donate)

    def _transformed(self, traced: Callable[..., Any]) -> Any:
        return jax.pmap(
            traced,
            axis_name=AXIS,
            in_axes=self.axes,
            devices=self.devices,
            donate_argnums=self.donate,
        )

    def jaxpr(self, *args: Any) -> Any:
        """The jaxpr of what each device runs."""
        axes = self.axes if isinstance(self.axes, tuple) else (self.axes,) * len(args)
        parts = [
            x if axis is None else jax.tree.map(_shard_aval, x)
            for x, axis in zip(args, axes, strict=True)
        ]
        with jax.enable_x64(True):
            env = [(AXIS, len(self.devices))]
            return jax.make_jaxpr(self.function, axis_env=env)(*parts).jaxpr

    def clear(self) -> None:
        """Forgets what was compiled; the counts stay."""
        self._jitted = self._run = self._transformed(self._counting())
        self._since_clear = 0


def _shard_aval(stack: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stack.shape[1:], stack.dtype)


class PmapProgram(Totals):
    """A Program that takes stacked arrays and runs on all devices at once.

    Called like the :class:`Program` that it maps; in place of a PRNG key it takes the stacked words
    of one key per device.
    """

    def __init__(self, program: Program, replicas: Replicas) -> None:
        self.program = program
        self.argnums = program.argnums
        self.accumulate = program.accumulate
        self.constant_inputs = program.constant_inputs
        self.forward_state_indices = program.forward_state_indices
        self.backward_state_indices = program.backward_state_indices
        self._devices = devices = replicas.devices
        self._steps: dict[Any, PmapFunction] = {}
        self.infer = tuple(_taking_key_data(f, devices) for f in program.infer)
        self.forward = tuple(_taking_key_data(f, devices) for f in program.forward)
        self.forward_backward = tuple(
            _taking_key_data(f, devices) for f in program.forward_backward
        )
        self.backward = PmapFunction(program.backward.function, "backward", devices)

    @staticmethod
    def of(program: Program, replicas: Replicas) -> PmapProgram:
        """The mapped form of a program; made once for the same devices."""
        found = program.variants.get(replicas)
        if found is None:
            found = program.variants[replicas] = PmapProgram(program, replicas)
        return found

    def step_function(self, train: bool, plan: StepSpec) -> PmapFunction:
        """The compiled step of this program and a plan (see ``program._train_step``), with the
        gradients summed over the devices."""
        found = self._steps.get((train, plan))
        if found is None:
            step = make_step(self.program, train, plan, partial(_reduce_shards, False))

            def mapped(donated: Any, args: Any, aux: Any, words: Any, *rest: Any) -> Any:
                *others, keys, numbers = rest
                key = None if words is None else wrap_key(words)
                return step(donated, args, aux, key, *others, keys, numbers)

            # pmap mistakes axes for those of leaves where there are as many leaves as arguments,
            # unless an entry is a tuple; what is donated is one of three.
            others = (
                None if i in REPLICATED_ARGS else 0
                for i in range(DONATED_ARG + 1, REPLICATED_ARGS[-1] + 1)
            )
            axes = ((0, 0, 0), *others)
            found = PmapFunction(mapped, "step", self._devices, (DONATED_ARG,), axes)
            self._steps[train, plan] = found
        return found

    def steps(self, train: bool) -> list[PmapFunction]:
        """As :meth:`Program.steps`."""
        return [f for (mode, _), f in self._steps.items() if mode == train]

    @property
    def functions(self) -> tuple[PmapFunction, ...]:
        """Every mapped function of this program."""
        return (
            *self.infer, *self.forward, *self.forward_backward, self.backward,
            *self._steps.values(),
        )  # fmt: skip

    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
        """As :meth:`Program.needs_head_gradient`."""
        single = [[jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs] for xs in (args, aux)]
        prng = None if key is None else jax.eval_shape(lambda: jax.random.key(0))
        return self.program.needs_head_gradient(tuple(single[0]), tuple(single[1]), prng)


@lru_cache(maxsize=64)
def _statistics_function(devices: tuple[Device, ...]) -> PmapFunction:
    return PmapFunction(
        partial(statistics_rows, platform=devices[0].platform), "statistics", devices
    )


def replicated_statistics_rows(replicas: Replicas, stacks: Arrays) -> jax.Array:
    """Rows of statistics of each device's entries of stacked arrays, sharded over the devices."""
    return _statistics_function(replicas.devices)(tuple(stacks))


def _taking_key_data(counted: InstrumentedJit, devices: tuple[Device, ...]) -> PmapFunction:
    function = counted.function

    def mapped(args: Arrays, aux: Arrays, words: Any, *rest: Any) -> Any:
        return function(args, aux, None if words is None else wrap_key(words), *rest)

    return PmapFunction(mapped, counted.name, devices)


def _reduce_shards(mean: bool, arrays: Arrays) -> tuple[jax.Array, ...]:
    reduce = jax.lax.pmean if mean else jax.lax.psum
    return tuple(reduce(x, AXIS).astype(x.dtype) for x in arrays)


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
