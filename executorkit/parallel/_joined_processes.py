"""Programs on the devices of all processes of a job, which call them together.

Sums over the devices are computed in few messages, in an order that depends on the parameters
alone: a process that has looked at its gradients, and so takes another program than the others,
sends the same messages as they.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..context import Device
from ..jax_internals import in_x64
from ..ops.nn.moments import DEVICE_AXIS
from ..program import (
    REPLICATED_ARGS,
    Arrays,
    CompileTask,
    Donated,
    Program,
    StepSpec,
    apply_updates,
    make_step,
)
from ._lockstep import lockstep
from ._pmap_function import PmapFunction, device_key
from ._replicas import PROCESS_AXIS, JobReplicas, Replicas, own_entries

#: Bytes below which arrays are sent together on CPUs, where each message has its own latency; other
#: platforms' collectives do that themselves.
_SMALL = 1 << 20
_AXES = (PROCESS_AXIS, DEVICE_AXIS)


class JoiningFunction(PmapFunction):
    """A function mapped over the devices of all processes, which call it together, each with the
    entries of its own devices."""

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
        return self.over_mesh(traced, self.job.mesh)

    def placed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        first, *others = args
        if isinstance(first, Donated):
            first.tree = self.job.spread(first.tree)
            return (first, *self.job.spread(others))
        return self.job.spread(args)


class JoiningStep(JoiningFunction):
    """A training step of all processes: takes what steps take, and completes it by the flags and
    the offsets."""

    __slots__ = ("_forward_states",)

    def __init__(
        self, program: Program, train: bool, spec: StepSpec, job: JobReplicas, options: Any
    ) -> None:
        self._forward_states = program.forward_state_indices
        step = joining_step(program, train, spec, job)
        super().__init__(step, "step", job, True, REPLICATED_ARGS, options)

    def call_into(
        self, results: list[Any], donated: Donated, args: tuple[Any, ...], age: int | None = None
    ) -> None:
        super().call_into(results, donated, self._completed(donated.tree, args), None)

    def compile(self, *args: Any) -> jax.stages.Compiled:
        return super().compile(*self._placed_avals(args))

    def trace(self, *args: Any) -> jax.stages.Traced:
        return super().trace(*self._placed_avals(args))

    def lower(self, *args: Any) -> jax.stages.Lowered:
        return super().lower(*self._placed_avals(args))

    def precompile(self, *args: Any) -> CompileTask:
        return super().precompile(*self._placed_avals(args))

    def _placed_avals(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments, which may be complete already, on the devices of the function."""
        donated, *others = args
        if len(others) <= max(REPLICATED_ARGS):
            others = self._completed(donated, others)
        return self.job.spread((donated, *others))

    def _completed(self, donated: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments after the donated ones, with the flags and the offsets."""
        weights, _, states = donated
        aux = args[1]
        summed = [w for group in weights for w in group]
        summed += [*states, *(aux[i] for i in self._forward_states)]
        return (*args, lockstep.flags(self.job.local), offsets_of(self.job, summed))


def joining_step(
    program: Program, train: bool, spec: StepSpec, job: JobReplicas
) -> Callable[..., Any]:
    """The function of a step by the sums of the gradients over the devices of all processes.

    Auxiliary states become the means over the devices. Where a process has no batch, everything
    stays as it is. The results of :func:`make_step` are followed by the sums of the flags.
    """

    def mapped(
        donated: Any, args: Any, aux: Any, key_data: Any, heads: Any, accumulated: Any,
        update_keys: Any, hyperparams: Any, flags: Any, offsets: Any,
    ) -> Any:  # fmt: skip
        told: list[Any] = []

        def reduce(grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]:
            sums, means, total = joint_sums(grads, states, flags, offsets, job)
            told.append(total)
            return sums, means

        step = make_step(program, train, spec, reduce)
        new, outputs, forward_states, grads = step(
            donated, args, aux, device_key(key_data), heads, accumulated,
            update_keys=_keys_of_first(update_keys), hyperparams=hyperparams,
        )  # fmt: skip
        old = tuple(aux[i] for i in program.forward_state_indices)
        new, forward_states = _if_all_have_batches(
            told[0], (new, tuple(forward_states)), (donated, old)
        )
        return new, outputs, forward_states, grads, told[0]

    return mapped


def _if_all_have_batches(told: Any, new: Any, old: Any) -> Any:
    """The pytree ``new`` unless a process is without a batch, else ``old``, which may have another
    structure."""
    leaves, tree = jax.tree.flatten(new)
    everyone = told[0] == 0
    pairs = zip(leaves, jax.tree.leaves(old), strict=True)
    return jax.tree.unflatten(tree, [jnp.where(everyone, x, y) for x, y in pairs])


@lru_cache(maxsize=64)
def update_function(spec: StepSpec, job: JobReplicas) -> JoiningFunction:
    """The function of an update by gradients that are there: sends what a step sends, and computes
    the same from it, to the last bit.

        function(weights, states, grads, aux, update_keys, hyperparams, flags, offsets)
            -> weights, states, aux, the sums of the flags
    """

    def update(
        weights: Any, states: Any, grads: Arrays, aux: Arrays, update_keys: Any, hyperparams: Any,
        flags: Any, offsets: Any,
    ) -> Any:  # fmt: skip
        sums, means, told = joint_sums(grads, aux, flags, offsets, job)
        keys = _keys_of_first(update_keys)
        new = apply_updates(spec, weights, sums, states, keys=keys, hyperparams=hyperparams)
        return *_if_all_have_batches(told, (*new, means), (weights, states, tuple(aux))), told

    return JoiningFunction(update, "update", job, replicated=(4, 5))


def _keys_of_first(update_keys: Sequence[Any]) -> tuple[Any, ...]:
    """The first process's key data of updates, in all processes."""
    return tuple(None if k is None else lax.all_gather(k, _AXES)[0] for k in update_keys)


class _Messages(NamedTuple):
    """The places of arrays in the messages of a sum.

    together
        the positions of arrays that are sent as one, for each message.
    alone
        those of the others.
    offsets
        for each array that is sent with others, in the order of messages, where it begins.
    """

    together: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]
    offsets: tuple[int, ...]


@lru_cache(maxsize=256)
def messages_of(forms: tuple[tuple[int, Any], ...], on_cpu: bool) -> _Messages:
    """The layout of arrays of these sizes and dtypes."""
    groups: dict[Any, list[int]] = {}
    alone, offsets = [], []
    for i, (size, dtype) in enumerate(forms):
        if on_cpu and size * dtype.itemsize < _SMALL:
            groups.setdefault(dtype, []).append(i)
        else:
            alone.append(i)
    for group in groups.values():
        ends = itertools.accumulate(forms[i][0] for i in group)
        offsets += [end - forms[i][0] for i, end in zip(group, ends, strict=True)]
    return _Messages(tuple(map(tuple, groups.values())), tuple(alone), tuple(offsets))


def _is_mean(dtype: Any) -> bool:
    """True for auxiliary states that become means; those of integers stay as they are."""
    return bool(jnp.issubdtype(dtype, jnp.inexact))


def offsets_of(job: JobReplicas, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The offsets that :func:`joint_sums` takes for stacked gradients and states: an array for
    each, so that XLA compiles one kernel for all places. As constants they would be as many
    kernels as places (for 200 parameters measured: 6.8 s instead of 1.7)."""
    forms = [(math.prod(x.shape[1:]), x.dtype) for x in arrays]
    layout = messages_of((*forms, (1, jnp.dtype("float32"))), job.on_cpu)
    return tuple(map(job.scalar, layout.offsets))


def joint_sums(
    grads: Arrays, states: Arrays, flags: Any, offsets: Arrays, job: JobReplicas
) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """The sums of gradients, the means of states, and the sums of flags over all devices, in as few
    messages as can be."""
    operands = [*grads, *states, flags]
    layout = messages_of(tuple((x.size, x.dtype) for x in operands), job.on_cpu)
    buffers = [
        jnp.concatenate([operands[i].reshape(-1) for i in group]) for group in layout.together
    ]
    sums = lax.psum((*buffers, *(operands[i] for i in layout.alone)), _AXES)
    totals: list[Any] = [None] * len(operands)
    places = iter(offsets)
    for group, buffer in zip(layout.together, sums, strict=False):
        for i in group:
            part = lax.dynamic_slice(buffer, (next(places),), (operands[i].size,))
            totals[i] = part.reshape(operands[i].shape)
    for i, total in zip(layout.alone, sums[len(buffers) :], strict=True):
        totals[i] = total.astype(operands[i].dtype)
    means = [
        (total / len(job)).astype(x.dtype) if _is_mean(x.dtype) else x
        for x, total in zip(states, totals[len(grads) :], strict=False)
    ]
    return tuple(totals[: len(grads)]), tuple(means), totals[-1]


@lru_cache(maxsize=64)
def _sum_function(job: JobReplicas) -> JoiningFunction:
    def sums(grads: Arrays, states: Arrays, flags: Any, offsets: Arrays) -> Any:
        return joint_sums(grads, states, flags, offsets, job)

    return JoiningFunction(sums, "sums", job)


def sum_over_job(
    replicas: Replicas, grads: Sequence[jax.Array], states: Sequence[jax.Array] = ()
) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
    """The sums of stacked arrays over the devices of all processes, the means of states, and the
    sums of the flags.

    Every process has to call it, or to take a step with such gradients and states, in the same
    order: they wait for each other.
    """
    job = replicas.of_job
    offsets = offsets_of(job, (*grads, *states))
    return _sum_function(job)(tuple(grads), tuple(states), lockstep.flags(replicas), offsets)


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


def bytes_of_first(device: Device, content: bytes) -> bytes:
    """The first process's bytes, in all processes, which call this together."""
    (length,) = first_of_job(device, [np.array([len(content)])])
    own = content if jax.process_index() == 0 else bytes(int(length[0]))
    (received,) = first_of_job(device, [np.frombuffer(own, np.uint8)])
    return received.tobytes()


def _padded(array: np.ndarray) -> bytes:
    content = np.ascontiguousarray(array).tobytes()
    return content + b"\0" * (-len(content) % 4)
