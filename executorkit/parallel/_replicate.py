"""One program on several devices: ``jax.pmap``, and arrays stacked for it.

A stacked array has one leading axis, one entry per device, and is sharded over the devices, so that
a mapped program takes it and gives it back as it is: parameters never leave their devices.
Measured on 8 CPU devices with 160 arrays: such a call takes 1.2 ms; taking the results apart into
arrays per device another 6 ms, putting them together again 6 ms. So that is done only for arrays
that someone looks at, and counted in ``traffic``.

``pmap`` is ``jit(shard_map)`` since JAX 0.8, and costs the same (measured: 1.17 and 1.11 ms for the
call above). This is the only module that knows which of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..context import Context, Device
from ..ndarray._random_state import key_of, next_words
from ..ndarray._statistics import described
from ..ops._devices import AXIS
from ..program import Program
from ..program._counted import Counted
from ..program._program import Arrays
from ..program._stepping import DONATED, SHARED, Plan, stepped


class Traffic:
    """How often arrays have been moved so far in this process, by kind of movement.

    split
        shards of stacked arrays that were made into arrays of their own.
    assembled
        stacked arrays put together from arrays per device.
    scattered
        arrays (of a batch, mostly) cut into one part per device.
    broadcast
        arrays copied to every device.
    gathered
        stacked arrays brought together on one device.
    """

    __slots__ = ("assembled", "broadcast", "gathered", "scattered", "split")

    def __init__(self) -> None:
        self.split = self.assembled = self.scattered = self.broadcast = self.gathered = 0

    def snapshot(self) -> dict[str, int]:
        """The counts as they are now."""
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


traffic = Traffic()


class Replicas:
    """Distinct devices of one platform, and the stacked arrays on them.

    ``Replicas.on(devices)`` gives the same object for the same devices.
    """

    def __init__(self, devices: tuple[Device, ...]) -> None:
        self.devices = devices
        mesh = Mesh(np.array(devices), (AXIS,))
        self.sharding = NamedSharding(mesh, PartitionSpec(AXIS))
        self._everywhere = NamedSharding(mesh, PartitionSpec())

    @staticmethod
    def on(devices: Sequence[Device]) -> Replicas:
        return _replicas(tuple(devices))

    def __len__(self) -> int:
        return len(self.devices)

    def zeros(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        """A stacked array of zeros; ``shape`` is that of one device's part."""
        return self.filled(shape, dtype, 0)

    def filled(self, shape: Sequence[int], dtype: Any, number: float) -> jax.Array:
        """A stacked array of one number."""
        with jax.enable_x64(True):
            host = np.full((len(self), *shape), number, jnp.dtype(dtype))
            return jax.device_put(host, self.sharding)

    def from_host(self, host: np.ndarray) -> jax.Array:
        """A stacked array of NumPy contents that nobody will write to any more."""
        with jax.enable_x64(True):
            return jax.device_put(host, self.sharding)

    def keys(self, contexts: Sequence[Context]) -> jax.Array:
        """The words of one new PRNG key per context, each from its context's own stream."""
        return self.from_host(np.stack([next_words(c) for c in contexts]))

    def split(self, stacked: jax.Array, k: int) -> jax.Array:
        """Device ``k``'s entry of a stacked array, as an array of that device."""
        traffic.split += 1
        with jax.enable_x64(True):
            return _without_leading_axis(stacked.addressable_data(k))

    def assemble(self, parts: Sequence[jax.Array]) -> jax.Array:
        """The stacked array of one part per device."""
        traffic.assembled += 1
        return self._stack(parts)

    def replace(self, stacked: jax.Array, parts: dict[int, jax.Array]) -> jax.Array:
        """A stacked array with other entries for some of the devices."""
        traffic.assembled += 1
        with jax.enable_x64(True):
            return self._joined(
                [
                    _leading_axis(parts[k]) if k in parts else stacked.addressable_data(k)
                    for k in range(len(self))
                ]
            )

    def scatter(self, parts: Sequence[jax.Array]) -> jax.Array:
        """As :meth:`assemble`, for the parts of one array that was cut up for the devices."""
        traffic.scattered += 1
        return self._stack(parts)

    def scatter_host(self, host: np.ndarray) -> jax.Array:
        """As :meth:`from_host`, counted as a scattered array."""
        traffic.scattered += 1
        return self.from_host(host)

    def broadcast(self, value: jax.Array | np.ndarray) -> jax.Array:
        """The stacked array of as many copies of one array."""
        traffic.broadcast += 1
        with jax.enable_x64(True):
            copies = jax.device_put(value[None], self._everywhere)
            return self._joined([shard.data for shard in copies.addressable_shards])

    def gather(self, stacked: jax.Array, device: Device) -> list[jax.Array]:
        """All entries of a stacked array on one device, each with its leading axis."""
        traffic.gathered += 1
        return jax.device_put([stacked.addressable_data(k) for k in range(len(self))], device)

    def _stack(self, parts: Sequence[jax.Array]) -> jax.Array:
        with jax.enable_x64(True):
            return self._joined([_leading_axis(p) for p in parts])

    def _joined(self, leading: Sequence[jax.Array]) -> jax.Array:
        shape = (len(self), *leading[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.sharding, list(leading))

    def everywhere(self) -> tuple[Device, ...]:
        """These devices and their counterparts in all other processes, process by process."""
        return _in_all_processes(self.devices)


@lru_cache(maxsize=64)
def _replicas(devices: tuple[Device, ...]) -> Replicas:
    return Replicas(devices)


@lru_cache(maxsize=64)
def _in_all_processes(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    if jax.process_count() == 1:
        return devices
    backend = devices[0].client
    numbers = [jax.local_devices(backend=backend.platform).index(d) for d in devices]
    return tuple(
        jax.local_devices(process, backend.platform)[n]
        for process in range(jax.process_count())
        for n in numbers
    )


@jax.jit
def _leading_axis(x: jax.Array) -> jax.Array:
    return x[None]


@jax.jit
def _without_leading_axis(x: jax.Array) -> jax.Array:
    return x.reshape(x.shape[1:])


class Mapped(Counted):
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
            x if axis is None else jax.tree.map(_part_of, x)
            for x, axis in zip(args, axes, strict=True)
        ]
        with jax.enable_x64(True):
            env = [(AXIS, len(self.devices))]
            return jax.make_jaxpr(self.function, axis_env=env)(*parts).jaxpr

    def clear(self) -> None:
        """Forgets what was compiled; the counts stay."""
        self._jitted = self._run = self._transformed(self._counting())
        self._since_clear = 0


def _part_of(stack: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stack.shape[1:], stack.dtype)


class MappedProgram:
    """A Program that takes stacked arrays and runs on all devices at once.

    Called like the :class:`Program` that it maps; in place of a PRNG key it takes the stacked words
    of one key per device.
    """

    def __init__(self, program: Program, replicas: Replicas) -> None:
        self.program = program
        self.wanted = program.wanted
        self.add = program.add
        self.pins = program.pins
        self.side_aux_numbers = program.side_aux_numbers
        self.step_aux_numbers = program.step_aux_numbers
        self._devices = devices = replicas.devices
        self._steps: dict[Any, Mapped] = {}
        self.infer = tuple(_with_key(f, devices) for f in program.infer)
        self.forward = tuple(_with_key(f, devices) for f in program.forward)
        self.forward_backward = tuple(_with_key(f, devices) for f in program.forward_backward)
        self.backward = Mapped(program.backward.function, "backward", devices)

    @staticmethod
    def of(program: Program, replicas: Replicas) -> MappedProgram:
        """The mapped form of a program; made once for the same devices."""
        found = program.variants.get(replicas)
        if found is None:
            found = program.variants[replicas] = MappedProgram(program, replicas)
        return found

    def step_function(self, train: bool, plan: Plan) -> Mapped:
        """The compiled step of this program and a plan (see ``program._stepping``), with the
        gradients summed over the devices."""
        found = self._steps.get((train, plan))
        if found is None:
            step = stepped(self.program, train, plan, partial(_reduce, False))

            def mapped(donated: Any, args: Any, aux: Any, words: Any, *rest: Any) -> Any:
                *others, keys, numbers = rest
                key = None if words is None else key_of(words)
                return step(donated, args, aux, key, *others, keys, numbers)

            # pmap mistakes axes for those of leaves where there are as many leaves as arguments,
            # unless an entry is a tuple; what is donated is one of three.
            others = (None if i in SHARED else 0 for i in range(DONATED + 1, SHARED[-1] + 1))
            axes = ((0, 0, 0), *others)
            found = Mapped(mapped, "step", self._devices, (DONATED,), axes)
            self._steps[train, plan] = found
        return found

    def steps(self, train: bool) -> list[Mapped]:
        """As :meth:`Program.steps`."""
        return [f for (mode, _), f in self._steps.items() if mode == train]

    @property
    def functions(self) -> tuple[Mapped, ...]:
        """Every mapped function of this program."""
        return (
            *self.infer, *self.forward, *self.forward_backward, self.backward,
            *self._steps.values(),
        )  # fmt: skip

    @property
    def traces(self) -> int:
        """How many traces (compilations) this program has cost so far."""
        return sum(f.traces for f in self.functions)

    @property
    def compile_seconds(self) -> float:
        """Seconds spent in calls that traced and compiled."""
        return sum(f.seconds for f in self.functions)

    def needs_head(self, args: Arrays, aux: Arrays, key: Any) -> tuple[bool, ...]:
        """As :meth:`Program.needs_head`."""
        single = [[jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs] for xs in (args, aux)]
        prng = None if key is None else jax.eval_shape(lambda: jax.random.key(0))
        return self.program.needs_head(tuple(single[0]), tuple(single[1]), prng)


@lru_cache(maxsize=64)
def _describing(devices: tuple[Device, ...]) -> Mapped:
    return Mapped(partial(described, platform=devices[0].platform), "statistics", devices)


def described_stacks(replicas: Replicas, stacks: Arrays) -> jax.Array:
    """Rows of statistics of each device's entries of stacked arrays, sharded over the devices."""
    return _describing(replicas.devices)(tuple(stacks))


def _with_key(counted: Counted, devices: tuple[Device, ...]) -> Mapped:
    function = counted.function

    def mapped(args: Arrays, aux: Arrays, words: Any, *rest: Any) -> Any:
        return function(args, aux, None if words is None else key_of(words), *rest)

    return Mapped(mapped, counted.name, devices)


def _reduce(mean: bool, arrays: Arrays) -> tuple[jax.Array, ...]:
    reduce = jax.lax.pmean if mean else jax.lax.psum
    return tuple(reduce(x, AXIS).astype(x.dtype) for x in arrays)


@lru_cache(maxsize=64)
def _reducing(mean: bool, devices: tuple[Device, ...]) -> Mapped:
    return Mapped(partial(_reduce, mean), "mean" if mean else "sum", devices)


def reduced(replicas: Replicas, stacks: Arrays, mean: bool = False) -> tuple[jax.Array, ...]:
    """Sums (or means) of stacked arrays over the devices of all processes, as stacked arrays.

    One program for all arrays. With several processes every one of them has to call it, with
    arrays of the same shapes: they wait for each other.
    """
    return _reducing(mean, replicas.everywhere())(tuple(stacks))
