"""Devices of a group, and the stacked arrays on them.

A stacked array has one leading axis, one entry per device, and is sharded over the devices, so that
a pmapped program takes and returns it as it is: parameters never leave their devices. Measured on 8
CPU devices with 160 arrays: such a call takes 1.2 ms; splitting the results into arrays per device
another 6 ms, assembling them again 6 ms. So only arrays that a script reads are split, and counted
in ``traffic``.

With ``model_parallel`` an entry belongs to several devices, a replica: each of them has all of it,
or they divide one of its axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._support.annotations import DType, Raw, Tree
from ..arrays.random_state import next_key_data
from ..arrays.values import to_device
from ..context import Context, Device, cpu
from ..display import many
from ..errors import BindError, NotSupportedError, listed
from ..jax_internals import in_x64, parts_of
from ..ops.nn.moments import DEVICE_AXIS
from ..program import small_jit

#: Axis of the mesh of a group along which there is one column for each device of a replica.
MODEL_AXIS = "model"
#: For each axis of an array MODEL_AXIS if it is divided, else None, up to the last that is divided;
#: empty for an array that every device has whole.
Spec = tuple[str | None, ...]
ContextGroups = Mapping[str, Context]


class ReplicaContext(Context):
    """The context of several devices that divide arrays; otherwise the context of the first."""

    __slots__ = ("_devices",)

    def __init__(self, contexts: Sequence[Context]) -> None:
        super().__init__(contexts[0])
        self._devices = tuple([c.device for c in contexts])

    @property
    def devices(self) -> tuple[Device, ...]:
        return self._devices


def replica_contexts(contexts: Sequence[Context], width: int) -> list[Context]:
    """Returns a context for each replica of ``width`` contexts. BindError if ``width`` does not
    divide their number, or a device is there twice."""
    if width == 1 or all(isinstance(c, ReplicaContext) for c in contexts):
        return list(contexts)
    if len(contexts) % width:
        raise BindError(
            "group: contexts", f"{len(contexts)} of them: {listed(contexts, 8)}",
            because=f"model_parallel={width} takes them {width} at a time",
            hint=f"a multiple of {width} contexts",
        )  # fmt: skip
    if len({c.device for c in contexts}) < len(contexts):
        raise BindError(
            "group: contexts", f"some share a device: {listed(contexts, 8)}",
            because=f"model_parallel={width} divides arrays over distinct devices",
            hint="jax.config.update('jax_num_cpu_devices', n) before JAX is used, for several CPUs",
        )  # fmt: skip
    return [ReplicaContext(contexts[k : k + width]) for k in range(0, len(contexts), width)]


def replica_workloads(workloads: Sequence[float], width: int) -> list[float]:
    return [sum(workloads[k : k + width]) for k in range(0, len(workloads), width)]


def can_replicate(contexts: Sequence[Context], group2ctxs: Sequence[ContextGroups | None]) -> bool:
    """Returns whether arrays can be one sharded array: on distinct devices of one platform."""
    devices = [device for c in contexts for device in c.devices]
    several = len(devices) > 1 or jax.process_count() > 1
    uniform = len(set(devices)) == len(devices) and len({d.platform for d in devices}) == 1
    return several and uniform and not any(group2ctxs)


#: Axis of the mesh of all devices of a job along which there is one row for each process.
PROCESS_AXIS = "processes"


class Traffic:
    """Counts of array movements of this process: stacked arrays split or assembled; arrays
    scattered over devices, broadcast to every device, gathered on one."""

    __slots__ = ("assembled", "broadcast", "gathered", "scattered", "split")

    def __init__(self) -> None:
        self.split = self.assembled = self.scattered = self.broadcast = self.gathered = 0

    def snapshot(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


traffic = Traffic()


class Replicas:
    """Distinct devices of one platform (``rows`` of each replica, ``devices`` the first of each),
    and stacked arrays on them, divided along ``spec``; one object for equal devices."""

    def __init__(self, rows: tuple[tuple[Device, ...], ...], spec: Spec = ()) -> None:
        self.rows = rows
        self.spec = spec
        self.devices = tuple([row[0] for row in rows])
        self.width = len(rows[0])
        self.mesh = Mesh(*_grid(rows))
        self.sharding = _stacked_sharding(self.mesh, spec)
        self._everywhere = NamedSharding(self.mesh, PartitionSpec(None, *spec))

    @staticmethod
    def on(devices: Sequence[Device]) -> Replicas:
        return _replicas(tuple([(device,) for device in devices]), ())

    @staticmethod
    def of(contexts: Sequence[Context]) -> Replicas:
        return _replicas(tuple([c.devices for c in contexts]), ())

    def sharded(self, spec: Spec) -> Replicas:
        return self if spec == self.spec else _replicas(self.rows, spec)

    def __len__(self) -> int:
        return len(self.rows)

    def zeros(self, shape: Sequence[int], dtype: DType) -> jax.Array:
        return self.filled(shape, dtype, 0)

    def filled(self, shape: Sequence[int], dtype: DType, number: float) -> jax.Array:
        return self.from_host(np.full((len(self), *shape), number, jnp.dtype(dtype)))

    @in_x64
    def from_host(self, host: np.ndarray) -> jax.Array:
        """Returns a stacked array of NumPy contents, not written to any more."""
        return jax.device_put(host, self.sharding)

    def keys(self, contexts: Sequence[Context]) -> jax.Array:
        return self.from_host(np.stack([next_key_data(c) for c in contexts]))

    def split(self, stacked: jax.Array, k: int) -> jax.Array:
        traffic.split += 1
        if spec_of(stacked):
            return to_device(self.host_entry(stacked, k), self.devices[k])
        return _without_leading_axis(parts_of(stacked)[k * self.width])

    def host_entry(self, stacked: jax.Array, k: int) -> np.ndarray:
        parts = [np.asarray(p)[0] for p in self._row(stacked, k)]
        spec = spec_of(stacked)
        return np.concatenate(parts, spec.index(MODEL_AXIS)) if spec else parts[0]

    def assemble(self, parts: Sequence[jax.Array]) -> jax.Array:
        traffic.assembled += 1
        return self._stack(parts)

    def replace(self, stacked: jax.Array, parts: dict[int, jax.Array]) -> jax.Array:
        traffic.assembled += 1
        rows = [
            self._placed(parts[k], k) if k in parts else self._row(stacked, k)
            for k in range(len(self))
        ]
        return self._from_parts(rows, stacked.shape[1:])

    def scatter(self, parts: Sequence[jax.Array]) -> jax.Array:
        traffic.scattered += 1
        return self._stack(parts)

    def scatter_host(self, host: np.ndarray) -> jax.Array:
        traffic.scattered += 1
        return self.from_host(host)

    @in_x64
    def broadcast(self, value: jax.Array | np.ndarray) -> jax.Array:
        traffic.broadcast += 1
        if self.spec:
            value = np.asarray(value)  # JAX would bring all of it to every device
        return self._from_parts(
            [parts_of(jax.device_put(value[None], self._everywhere))], value.shape
        )

    def gather(self, stacked: jax.Array, device: Device) -> list[jax.Array]:
        traffic.gathered += 1
        if spec_of(stacked):
            entries = range(len(self))
            return [to_device(self.host_entry(stacked, k)[None], device) for k in entries]
        return jax.device_put(parts_of(stacked)[:: self.width], device)

    def _row(self, stacked: jax.Array, k: int) -> list[jax.Array]:
        return parts_of(stacked)[k * self.width : (k + 1) * self.width]

    def _stack(self, parts: Sequence[jax.Array]) -> jax.Array:
        rows = [self._placed(part, k) for k, part in enumerate(parts)]
        return self._from_parts(rows, parts[0].shape)

    def _placed(self, part: jax.Array, k: int) -> list[jax.Array]:
        if self.width == 1:
            return [_leading_axis(part)]
        row = NamedSharding(Mesh(np.array(self.rows[k]), (MODEL_AXIS,)), PartitionSpec(*self.spec))
        return [_leading_axis(x) for x in parts_of(in_x64(jax.device_put)(part, row))]

    @in_x64
    def _from_parts(self, rows: Sequence[Sequence[jax.Array]], shape: Sequence[int]) -> jax.Array:
        parts = [part for row in rows for part in row]
        stacked = (len(self), *shape)
        return jax.make_array_from_single_device_arrays(stacked, self.sharding, parts)

    @property
    def home(self) -> Device:
        """The device on which an array is prepared for all: the first, or a CPU for parts."""
        return cpu().device if self.spec else self.devices[0]

    @property
    def of_job(self) -> JobReplicas:
        return _job_replicas(self.rows)


def spec_of(stacked: Raw) -> Spec:
    sharding = stacked.sharding
    return tuple(sharding.spec[1:]) if isinstance(sharding, NamedSharding) else ()


class JobReplicas:
    """Devices of this process (``local``) and of all others, process by process. Of an array
    stacked over them each process has the entries of its devices."""

    def __init__(self, local: Replicas) -> None:
        self.local = local
        self.mesh = Mesh(_counterparts(local.mesh), (PROCESS_AXIS, *local.mesh.axis_names))
        self._scalars: dict[int, jax.Array] = {}
        self._shardings: dict[Spec, NamedSharding] = {}

    def __len__(self) -> int:
        return self.mesh.size // self.local.width

    @property
    def joins_messages(self) -> bool:
        """True if small arrays are sent together: on CPUs, unless arrays are divided."""
        return self.local.devices[0].platform == "cpu" and self.local.width == 1

    def scalar(self, number: int) -> jax.Array:
        if number not in self._scalars:
            host = np.full(len(self.local), number, np.int32)
            self._scalars[number] = self.spread(self.local.from_host(host))
        return self._scalars[number]

    def spread(self, tree: Tree) -> Tree:
        """Returns a pytree with stacked arrays as parts of arrays of all, in the same memory."""
        leaves, structure = jax.tree.flatten(tree)
        return jax.tree.unflatten(structure, [self._spread(x) for x in leaves])

    def _spread(self, x: Raw) -> Tree:
        is_aval = isinstance(x, jax.ShapeDtypeStruct)
        if not (is_aval or isinstance(x, jax.Array)) or _is_of_job(x.sharding):
            return x
        if is_aval and getattr(x.sharding, "mesh", None) != self.local.mesh:
            return x
        shape, sharding = (len(self), *x.shape[1:]), self._sharding(spec_of(x))
        if is_aval:
            return jax.ShapeDtypeStruct(shape, x.dtype, sharding=sharding)
        return jax.make_array_from_single_device_arrays(shape, sharding, parts_of(x))

    def _sharding(self, spec: Spec) -> NamedSharding:
        if spec not in self._shardings:
            axes = PartitionSpec((PROCESS_AXIS, DEVICE_AXIS), *spec)
            self._shardings[spec] = NamedSharding(self.mesh, axes)
        return self._shardings[spec]


def _is_of_job(sharding: Any) -> bool:
    return isinstance(sharding, NamedSharding) and PROCESS_AXIS in sharding.mesh.axis_names


def own_entries(stacked: jax.Array) -> jax.Array:
    if not _is_of_job(getattr(stacked, "sharding", None)):
        return stacked
    local = _local_sharding(stacked.sharding)
    shape = (local.mesh.shape[DEVICE_AXIS], *stacked.shape[1:])
    return jax.make_array_from_single_device_arrays(shape, local, parts_of(stacked))


def first_entry(stacked: jax.Array) -> list[jax.Array]:
    sharding: Any = stacked.sharding
    width = sharding.mesh.shape[MODEL_AXIS] if spec_of(stacked) else 1
    return parts_of(stacked)[:width]


@lru_cache(maxsize=256)
def _local_sharding(of_job: Any) -> NamedSharding:
    rows = of_job.mesh.devices[jax.process_index()]
    mesh = Mesh(rows, of_job.mesh.axis_names[1:])
    return _stacked_sharding(mesh, tuple(of_job.spec[1:]))


def _stacked_sharding(mesh: Mesh, spec: Spec) -> NamedSharding:
    if mesh.shape[DEVICE_AXIS] > 1 or MODEL_AXIS not in mesh.axis_names:
        return NamedSharding(mesh, PartitionSpec(DEVICE_AXIS, *spec))
    return NamedSharding(mesh, PartitionSpec(None, *spec) if spec else PartitionSpec())


@lru_cache(maxsize=256)
def _replicas(rows: tuple[tuple[Device, ...], ...], spec: Spec) -> Replicas:
    return Replicas(rows, spec)


@lru_cache(maxsize=64)
def _job_replicas(rows: tuple[tuple[Device, ...], ...]) -> JobReplicas:
    return JobReplicas(_replicas(rows, ()))


def _grid(rows: tuple[tuple[Device, ...], ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    devices = np.array(rows)
    if len(rows[0]) == 1:
        return devices[:, 0], (DEVICE_AXIS,)
    return devices, (DEVICE_AXIS, MODEL_AXIS)


def _counterparts(mesh: Mesh) -> np.ndarray:
    devices = mesh.devices.ravel().tolist()
    platform, count = devices[0].platform, jax.process_count()
    numbers = [jax.local_devices(backend=platform).index(d) for d in devices]
    devices_of = [jax.local_devices(process, platform) for process in range(count)]
    for process, theirs in enumerate(devices_of):
        if len(theirs) <= max(numbers):
            raise NotSupportedError(
                "processes of a job",
                f"process {process} has {many(len(theirs), 'device')}, this one uses number "
                f"{max(numbers)}",
                because="all processes run one program on the same devices of each",
                hint="as many devices for every process, or a context that all of them have",
            )
    grid = np.array([[theirs[n] for n in numbers] for theirs in devices_of])
    return grid.reshape(count, *mesh.devices.shape)


@small_jit
def _leading_axis(x: jax.Array) -> jax.Array:
    return x[None]


@small_jit
def _without_leading_axis(x: jax.Array) -> jax.Array:
    return x.reshape(x.shape[1:])
