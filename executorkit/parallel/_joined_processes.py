"""Programs on the devices of all processes of a job, which call them together.

Sums over the devices are computed in few messages, in an order that depends on the parameters
alone: a process that has looked at its gradients, and so takes another program than the others,
sends the same messages as they.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..context import Device
from ..jax_internals import in_x64
from ..ops.nn.moments import DEVICE_AXIS
from ..program import Arrays, Donated, Program, StepSpec, make_step
from ._lockstep import lockstep
from ._pmap_function import PmapFunction, device_key, over_mesh
from ._replicas import PROCESS_AXIS, JobReplicas, Replicas, own_entries

#: Bytes below which arrays are sent together on CPUs, where each message has its own latency; other
#: platforms' collectives do that themselves.
_SMALL = 64 * 1024
_AXES = (PROCESS_AXIS, DEVICE_AXIS)


class JoiningFunction(PmapFunction):
    """A function mapped over the devices of all processes, which call it together, each with the
    entries of its own devices. The flags of :class:`Lockstep` are its last argument.
    """

    __slots__ = ("job",)

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        job: JobReplicas,
        donates: bool = False,
        replicated: tuple[int, ...] = (),
        compiler_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.job = job
        devices = tuple(job.mesh.devices.flat)
        super().__init__(function, name, devices, donates, replicated, compiler_options)

    def transform(self, traced: Callable[..., Any]) -> Any:
        options = {"donate_argnums": 0} if self.donates else {}
        function = over_mesh(traced, self.job.mesh, self.replicated, self.name)
        return jax.jit(function, compiler_options=self.compiler_options, **options)

    def placed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        first, *others = args
        if isinstance(first, Donated):
            first.tree = self.job.spread(first.tree)
            return (first, *self.job.spread(others))
        return self.job.spread(args)

    def call_into(
        self, results: list[Any], donated: Donated, args: tuple[Any, ...], age: int | None = None
    ) -> None:
        super().call_into(results, donated, (*args, lockstep.flags(self.job.local)), None)

    def compile(self, *args: Any) -> jax.stages.Compiled:
        return super().compile(*self._with_flags(args))

    def trace(self, *args: Any) -> jax.stages.Traced:
        return super().trace(*self._with_flags(args))

    def lower(self, *args: Any) -> jax.stages.Lowered:
        return super().lower(*self._with_flags(args))

    def precompile(self, *args: Any) -> Any:
        return super().precompile(*self._with_flags(args))

    def _with_flags(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the program takes them, which may have flags already."""
        has_flags = len(args) > max(self.replicated, default=len(args)) + 1
        flags = () if has_flags else (lockstep.flags(self.job.local),)
        return self.job.spread((*args, *flags))


def joining_step(
    program: Program, train: bool, spec: StepSpec, job: JobReplicas
) -> Callable[..., Any]:
    """The function of a step by the sums of the gradients over the devices of all processes.

    Auxiliary states become the means over the devices. Where a process has no batch, everything
    stays as it is. The results of :func:`make_step` are followed by the sums of the flags.
    """
    n_devices, on_cpu = len(job), job.mesh.devices.flat[0].platform == "cpu"

    def mapped(
        donated: Any, args: Any, aux: Any, key_data: Any, heads: Any, accumulated: Any,
        update_keys: Any, hyperparams: Any, flags: Any,
    ) -> Any:  # fmt: skip
        told: list[Any] = []

        def reduce(grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]:
            sums, means, total = joint_sums(grads, states, flags, n_devices, on_cpu)
            told.append(total)
            return sums, means

        step = make_step(program, train, spec, reduce)
        keys = tuple(None if k is None else lax.all_gather(k, _AXES)[0] for k in update_keys)
        results = step(
            donated, args, aux, device_key(key_data), heads, accumulated, keys, hyperparams
        )
        new, outputs, forward_states, grads = results
        everyone = told[0][0] == 0
        old_states = [aux[i] for i in program.forward_state_indices]
        new = tuple(
            jax.tree.map(lambda x, y: jnp.where(everyone, x, y), flat, _flat(old))
            for flat, old in zip(new, donated, strict=True)
        )
        kept = [jnp.where(everyone, x, y) for x, y in zip(forward_states, old_states, strict=True)]
        return new, outputs, tuple(kept), grads, told[0]

    return mapped


def _flat(donated: Any) -> Any:
    """Donated weights or states in the structure of what replaces them."""
    if not any(isinstance(x, list | tuple | dict) for x in donated):
        return tuple(donated)
    return tuple(tuple(jax.tree.leaves(x)) for x in donated)


def joint_sums(
    grads: Arrays, states: Arrays, flags: Any, n_devices: int, on_cpu: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """The sums of gradients, the means of states, and the sums of flags over all devices, in as few
    messages as can be. States of integers stay as they are."""
    means = [i for i, x in enumerate(states) if jnp.issubdtype(x.dtype, jnp.inexact)]
    operands = [*grads, *(states[i] for i in means), flags]
    together: dict[Any, list[int]] = {}
    for i, x in enumerate(operands):
        if on_cpu and x.size * x.dtype.itemsize < _SMALL:
            together.setdefault(x.dtype, []).append(i)
    packed = {i for group in together.values() for i in group}
    alone = [i for i in range(len(operands)) if i not in packed]
    buffers = [_packed([operands[i] for i in group]) for group in together.values()]
    sums = lax.psum((*buffers, *(operands[i] for i in alone)), _AXES)
    totals: list[Any] = [None] * len(operands)
    for group, buffer in zip(together.values(), sums, strict=False):
        _unpack(buffer, group, operands, totals)
    for i, total in zip(alone, sums[len(buffers) :], strict=True):
        totals[i] = total.astype(operands[i].dtype)
    new_states = list(states)
    for k, i in enumerate(means, len(grads)):
        new_states[i] = (totals[k] / n_devices).astype(states[i].dtype)
    return tuple(totals[: len(grads)]), tuple(new_states), totals[-1]


def _packed(arrays: Sequence[Any]) -> Any:
    return jnp.concatenate([x.reshape(-1) for x in arrays])


def _unpack(buffer: Any, group: Sequence[int], operands: Arrays, totals: list[Any]) -> None:
    begin = 0
    for i in group:
        end = begin + operands[i].size
        totals[i] = buffer[begin:end].reshape(operands[i].shape)
        begin = end


@lru_cache(maxsize=64)
def _sum_function(job: JobReplicas) -> JoiningFunction:
    n_devices, on_cpu = len(job), job.mesh.devices.flat[0].platform == "cpu"

    def sums(grads: Arrays, states: Arrays, flags: Any) -> Any:
        return joint_sums(grads, states, flags, n_devices, on_cpu)

    return JoiningFunction(sums, "sums", job)


def sum_over_job(
    replicas: Replicas, grads: Sequence[jax.Array], states: Sequence[jax.Array] = ()
) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
    """The sums of stacked arrays over the devices of all processes, the means of states, and the
    sums of the flags.

    Every process has to call it, or to take a step with such gradients and states, in the same
    order: they wait for each other.
    """
    function = _sum_function(replicas.of_job)
    return function(tuple(grads), tuple(states), lockstep.flags(replicas))


@in_x64
def first_of_job(device: Device, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first process's arrays, in all processes, which call this together with arrays of the
    same shapes; one message, by a device of each."""
    words = [np.frombuffer(_padded(x), np.uint32) for x in arrays]
    whole = np.concatenate(words) if words else np.zeros(0, np.uint32)
    mine = whole if jax.process_index() == 0 else np.zeros_like(whole)
    replicas = Replicas.on([device])
    (total,), _, _ = sum_over_job(replicas, [replicas.from_host(mine[None])])
    received = np.asarray(own_entries(total))[0]
    results, begin = [], 0
    for x, part in zip(arrays, words, strict=True):
        content = received[begin : begin + part.size].tobytes()[: x.nbytes]
        results.append(np.frombuffer(content, x.dtype).reshape(x.shape).copy())
        begin += part.size
    return results


def _padded(array: np.ndarray) -> bytes:
    content = np.ascontiguousarray(array).tobytes()
    return content + b"\0" * (-len(content) % 4)
