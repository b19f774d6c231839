"""The devices of each replica, and the choice between a replicated array and one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax

from ..context import Context, Device
from ..errors import BindError, listed

ContextGroups = Mapping[str, Context]


class ReplicaContext(Context):
    """The context of a replica that several devices hold together: equal to that of the first."""

    __slots__ = ("_devices",)

    def __init__(self, contexts: Sequence[Context]) -> None:
        super().__init__(contexts[0])
        self._devices = tuple([c.device for c in contexts])

    @property
    def devices(self) -> tuple[Device, ...]:
        return self._devices


def replica_contexts(contexts: Sequence[Context], width: int) -> list[Context]:
    """A context for each replica of ``width`` devices, made of ``width`` contexts; those of
    replicas stay as they are.

    BindError if their number is no multiple of that, or a device is there twice.
    """
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
    """The workload of each replica: the sum of those of its devices."""
    return [sum(workloads[k : k + width]) for k in range(0, len(workloads), width)]


def can_replicate(contexts: Sequence[Context], group2ctxs: Sequence[ContextGroups | None]) -> bool:
    """True if arrays of these contexts can be one sharded array: on distinct devices of one
    platform, more than one of them counting all processes."""
    devices = [device for c in contexts for device in c.devices]
    several = len(devices) > 1 or jax.process_count() > 1
    uniform = len(set(devices)) == len(devices) and len({d.platform for d in devices}) == 1
    return several and uniform and not any(group2ctxs)
