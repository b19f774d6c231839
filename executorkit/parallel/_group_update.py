"""Parameters of a group as a whole: set alike, read as the mean over the devices, updated at once.

An update is by the sum of the gradients of all devices: in the program that computes them, in one
that takes them (both :func:`update_together`), or array by array (:func:`update_by_sum`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from .._support.annotations import NamedArrays, Raw, Tree
from ..arrays.protocol import PendingValue
from ..arrays.storage import Storage
from ..arrays.values import fit
from ..calls.rollback import Rollback, complete
from ..calls.update_call import UpdateCall
from ..context import cpu
from ..errors import BindError, NotSupportedError, ShapeError
from ..executor import convert_for
from ..ndarray import NDArray
from ..program import HostContents
from ._batch_transfer import mean_over_devices
from ._data_parallel_core import DataParallelCore
from ._job_messages import lockstep
from ._job_steps import UpdateStep, check_when_due, first_of_job, sum_over_job
from ._pmap_executor import reduce_replicated
from ._replicas import Replicas, Spec, own_entries
from ._replicated_array import PerDevice, ReplicatedArray, replicate, replicated
from ._state_sharding import ShardedState, StateSharding


def set_parameters(
    group: DataParallelCore,
    arg_params: NamedArrays,
    aux_params: NamedArrays | None,
    allow_extra: bool = False,
) -> None:
    """Copies arrays by name to all devices, converted to the bound dtypes; or nothing: ValueError
    for a name that the symbol lacks, unless ``allow_extra``, and for a wrong shape."""
    writes = []
    for params, names, arrays, what in (
        (arg_params, group.arg_names, group.arg_arrays, "argument"),
        (aux_params or {}, group.aux_names, group.aux_arrays, "auxiliary state"),
    ):
        for name, value in params.items():
            if name in names:
                where = f"set_params: {what} {name!r}"
                writes += _parameter_writes(arrays[names.index(name)], value, where)
            elif not allow_extra:
                problem = f"{name!r} is not an {what} of this symbol"
                raise BindError("set_params", problem, hint="allow_extra=True to skip such names")
    complete(lambda: [target.assign(value, shared) for target, value, shared in writes])


def _parameter_writes(
    arrays: PerDevice, value: Any, where: str
) -> list[tuple[Any, jax.Array, bool]]:
    if isinstance(arrays, ReplicatedArray):
        if value.shape != arrays.shape:
            raise ShapeError(where, f"shape {value.shape}, expected {arrays.shape}")
        one = fit(value, arrays.shape, arrays.dtype, arrays.replicas.home, where).value
        return [(arrays, arrays.replicas.broadcast(one), False)]
    writes = []
    for array in arrays:
        fitted = convert_for(value, array, where)
        writes.append((array, fitted.value, fitted.shared))
    return writes


def share_first(group: DataParallelCore, names: Sequence[str]) -> None:
    """Sends the first process's parameters of these names and auxiliary states to all, at once."""
    parameters = set(names)
    arrays = [a for n, a in zip(group.arg_names, group.arg_arrays, strict=True) if n in parameters]
    arrays += group.aux_arrays
    divided = [a for a in arrays if isinstance(a, ReplicatedArray) and a.replicas.spec]
    whole = [a for a in arrays if not (isinstance(a, ReplicatedArray) and a.replicas.spec)]
    received = first_of_job(group.contexts[0].device, [a[0].asnumpy() for a in whole])
    for members, values in zip(whole, received, strict=True):
        for member in members:
            member[:] = values
    stacks = []
    for array in divided:
        bits = np.dtype(f"u{array.dtype.itemsize}")
        host = np.zeros((len(array.replicas), *array.shape), bits)
        if jax.process_index() == 0:
            host[0] = array[0].asnumpy().view(bits)
        stacks.append(array.replicas.from_host(host))
    if stacks:
        sums, _, _ = sum_over_job(divided[0].replicas, stacks)
        for array, total in zip(divided, sums, strict=True):
            received = array.replicas.host_entry(own_entries(total), 0).view(array.dtype)
            array.assign(array.replicas.broadcast(received))


def mean_parameters(
    names: Sequence[str], arrays: Sequence[PerDevice], into: Mapping[str, NDArray]
) -> None:
    """Writes means over this process's devices to ``into``; KeyError for an unknown name."""
    for name, members in zip(names, arrays, strict=True):
        target = into[name]
        device = target.context.device
        value = mean_over_devices(members, target.context)
        dtype = target.storage.dtype
        target.assign(*fit(value, target.shape, dtype, device, f"get_params: {name!r}"))


def all_reduce(arrays: Sequence[PerDevice], mean: bool = False) -> list[PerDevice]:
    """Returns the sum (or mean) of parameters over the devices of all processes, which call this
    together. ``arrays``, and the result, have for each parameter the arrays of all devices. Stacked
    arrays are reduced by one program on the devices, others on the first device."""
    results: list[PerDevice] = list(arrays)
    stacks = {i: a for i, a in enumerate(arrays) if isinstance(a, ReplicatedArray)}
    several = jax.process_count() > 1
    if stacks:
        replicas = next(iter(stacks.values())).replicas
        values = [a.value for a in stacks.values()]
        if not several:
            totals = reduce_replicated(replicas, values, mean)
        elif mean:
            totals = sum_over_job(replicas, (), values)[1]
        else:
            totals = sum_over_job(replicas, values)[0]
        for (i, old), value in zip(stacks.items(), totals, strict=True):
            results[i] = ReplicatedArray(
                old.contexts, old.shape, old.dtype, value, old.replicas.spec
            )
    lists = {i: list(a) for i, a in enumerate(arrays) if not isinstance(a, ReplicatedArray)}
    if lists:
        sums = sum_arrays_over_job([_sum(members) for members in lists.values()])
        processes = jax.process_count()
        for (i, members), total in zip(lists.items(), sums, strict=True):
            mean_or_sum = total / (len(members) * processes) if mean else total
            results[i] = [mean_or_sum.copyto(m.context) for m in members]
    return results


def _sum(members: Sequence[NDArray]) -> NDArray:
    first = members[0]
    total = first.copy()
    for other in members[1:]:
        total += other.as_in_context(first.context)
    return total


def sum_arrays_over_job(arrays: Sequence[NDArray]) -> Sequence[NDArray]:
    if jax.process_count() == 1:
        return arrays
    sums: dict[int, NDArray] = {}
    for context in dict.fromkeys(x.context for x in arrays):
        here = [i for i, x in enumerate(arrays) if x.context == context]
        replicas = Replicas.on([context.device])
        totals, _, _ = sum_over_job(replicas, [replicas.assemble([arrays[i].value]) for i in here])
        for i, total in zip(here, totals, strict=True):
            sums[i] = NDArray.from_jax(replicas.split(total, 0), context, shared=False)
    return [sums[i] for i in range(len(arrays))]


class GroupUpdater(Protocol):
    """An updater that can be a part of a program, such as :class:`.Updater`."""

    states: dict[Hashable, Any]
    #: For each index the state on all devices, filled and read here only.
    replicated_states: dict[Hashable, Any]

    def attach(
        self, indices: Any, first_weights: Any, weights: Tree, grads: Any, state_of: Any,
        others: Any = (),
    ) -> UpdateCall | None: ...  # fmt: skip

    def prepare(self, indices: Sequence[Hashable], weights: Sequence[NDArray]) -> object: ...

    def owner(
        self, indices: Sequence[Hashable], index: Hashable, path: Sequence[Any]
    ) -> int | None:
        """Returns the parameter that a leaf of the state belongs to; None for a leaf of all."""
        ...

    def __call__(self, index: Hashable, grad: Raw, weight: Raw) -> object: ...


class _States(NamedTuple):
    members: Any
    arrays: Any
    leaves: list[ReplicatedArray]
    sharding: StateSharding | None


def _replicated_state(
    updater: GroupUpdater,
    indices: Sequence[Hashable],
    index: Hashable,
    weights: Sequence[ReplicatedArray],
    sharding: StateSharding | None,
) -> Any:
    weight, present = weights[0], updater.states[index]
    cached: _States | None = updater.replicated_states.get(index)
    if (
        cached is not None
        and present is not None
        and present is cached.members
        and cached.leaves[0].contexts == weight.contexts
        and cached.sharding == sharding
    ):
        for array in cached.leaves:
            if array.has_written_members:
                array.copy_first()
        return cached.arrays

    shapes = {w.shape for w in weights}

    def replicate(path: Any, array: NDArray) -> ReplicatedArray:
        form = weight.contexts, array.shape, array.dtype
        if (
            sharding is not None
            and array.shape in shapes
            and sharding.axis(array.shape) is not None
        ):
            return ShardedState(weight.contexts, array.value, sharding)
        owner = updater.owner(indices, index, path) if weight.replicas.width > 1 else None
        spec: Spec = ()
        if owner is not None and weights[owner].shape == array.shape:
            spec = weights[owner].replicas.spec
        replicas = weight.replicas.sharded(spec)
        value = replicas.broadcast(array.host if spec else array.value)
        return ReplicatedArray(*form, value, spec)

    replicated = jax.tree_util.tree_map_with_path(replicate, present)
    updater.states[index] = members = jax.tree.map(lambda array: array[0], replicated)
    leaves = jax.tree.leaves(replicated)
    updater.replicated_states[index] = _States(members, replicated, leaves, sharding)
    return replicated


def attach_replicated(
    updaters: Sequence[GroupUpdater],
    indices: Sequence[Hashable],
    weights: Sequence[ReplicatedArray],
    grads: Sequence[PendingValue],
    sharding: StateSharding | None = None,
) -> UpdateCall | None:
    """Makes the update of replicated weights, by the sums of gradients, a part of the step that
    computes these. Returns None, with nothing changed, if that is impossible. ``updaters`` are one
    whose states all devices share, or one for each; ``sharding`` divides shared states."""
    first = [w[0] for w in weights]
    updater, *others = updaters
    if others:
        return updater.attach(
            indices, first, weights, grads,
            state_of=lambda index: _replicate_states(updaters, index),
            others=[(u, [w[k] for w in weights]) for k, u in enumerate(others, 1)],
        )  # fmt: skip

    def state_of(index: Hashable) -> Any:
        return _replicated_state(updater, indices, index, weights, sharding)

    if sharding is not None or weights[0].replicas.width > 1:
        # No device ever has the states of all parameters whole.
        for index, weight in zip(indices, weights, strict=False):
            if index not in updater.states:
                updater.prepare([index], [source_of(weight)])
                if index in updater.states:
                    state_of(index)
    return updater.attach(indices, first, weights, grads, state_of=state_of)


def source_of(weight: ReplicatedArray) -> NDArray:
    if not weight.replicas.spec:
        return weight[0]
    storage = Storage(weight.shape, weight.dtype, producer=HostContents(weight[0].host, cpu()))
    return NDArray.from_storage(storage, 0, weight.shape, cpu())


def update_together(
    updaters: Sequence[GroupUpdater],
    indices: Sequence[Hashable],
    weights: Sequence[ReplicatedArray],
    grads: Sequence[ReplicatedArray],
    *,
    sharding: StateSharding | None = None,
    all_processes: bool = False,
    states: Sequence[ReplicatedArray] = (),
    sums_gradients: bool = False,
) -> bool:
    """Updates replicated weights by the sums of the gradients of all devices, in the program that
    computes these; in a job, and where a replica has several devices, otherwise in one that takes
    them. Returns False, with nothing changed, if neither is possible. ``updaters`` and ``sharding``
    are as for :func:`attach_replicated`; ``states`` become the means over the same devices;
    ``all_processes`` sums over processes, ``sums_gradients`` writes sums to the gradients."""
    if attach_replicated(updaters, indices, weights, grads, sharding):
        if all_processes:  # others wait
            weights[0].compute()
        return True
    if not all_processes and weights[0].replicas.width == 1:
        return False
    targets = UpdateStep(grads, states, sums_gradients).targets
    return attach_replicated(updaters, indices, weights, targets, sharding) is not None


def update_parameters(
    core: DataParallelCore,
    updater: Any,
    indices: Sequence[Hashable],
    *,
    weights: Sequence[PerDevice],
    grads: Sequence[PerDevice],
    all_processes: bool,
) -> None:
    sharding = state_sharding_of(core, all_processes)
    states = core.changing_states if all_processes else ()
    arrays = *weights, *grads, *states
    stacked = [a for a in arrays if isinstance(a, ReplicatedArray)]
    if len(stacked) == len(arrays) and hasattr(updater, "attach"):
        count = len(weights)
        if update_together(
            [updater], indices, stacked[:count], stacked[count : 2 * count],
            sharding=sharding, all_processes=all_processes, states=stacked[2 * count :],
        ):  # fmt: skip
            return
    update_by_sum(updater, indices, weights, grads, all_processes, states)


def state_sharding_of(core: DataParallelCore, all_processes: bool) -> StateSharding | None:
    """Returns the sharding of optimizer states in a group's options, or None; NotSupportedError if
    the devices do not run one program."""
    if not core.options.shard_optimizer or (len(core.contexts) == 1 and not all_processes):
        return None
    if not core.is_pmapped:
        raise NotSupportedError(
            "shard_optimizer", "the devices of this group do not run one program",
            because="slices have different lengths, a context is there twice, or the network needs "
            "programs of its own",
            hint="a batch size that the number of contexts divides, distinct contexts of one kind",
        )  # fmt: skip
    return StateSharding(Replicas.of(core.contexts), all_processes)


def _replicate_states(updaters: Sequence[GroupUpdater], index: Hashable) -> Any:
    trees = [updater.states[index] for updater in updaters]

    def members(*arrays: NDArray) -> list[NDArray]:
        return list(arrays) if replicated(arrays) else replicate(arrays)

    columns, structure = zip(*map(jax.tree.flatten, trees), strict=True)
    rows = [members(*row) for row in zip(*columns, strict=True)]
    for k, updater in enumerate(updaters):
        updater.states[index] = jax.tree.unflatten(structure[k], [row[k] for row in rows])
    return jax.tree.unflatten(structure[0], [replicated(row) for row in rows])


def update_by_sum(
    updater: GroupUpdater,
    indices: Sequence[Hashable],
    weights: Sequence[PerDevice],
    grads: Sequence[PerDevice],
    all_processes: bool = False,
    states: Sequence[PerDevice] = (),
) -> None:
    """Updates the first device's weights by the sum of the gradients, and copies them to all. With
    ``all_processes`` it sums over these, and ``states`` become the means."""
    if all_processes:
        flags, grads, set_means = _sum_step_over_job(grads, states)
        if lockstep.note(flags, ()).share < 1:
            return
        set_means()
    elif len(grads[0]) > 1:
        grads = [[_sum(g)] for g in grads]
    with Rollback() as rollback:
        # The first device's weights may be the new ones already.
        rollback.add(partial(_copy_first_to_all, weights))
        updater(indices, [g[0] for g in grads], [w[0] for w in weights])
        _copy_first_to_all(weights)
    if all_processes:
        check_when_due([w[0].value[None] for w in weights])


def _sum_step_over_job(
    grads: Sequence[PerDevice], states: Sequence[PerDevice]
) -> tuple[jax.Array, list[PerDevice], Callable[[], None]]:
    home = grads[0][0].context
    replicas = Replicas.on([home.device])

    def alone(array: NDArray) -> jax.Array:
        return replicas.assemble([array.as_in_context(home).value])

    sums, means, flags = sum_over_job(
        replicas, [alone(_sum(g)) for g in grads], [alone(_sum(s) / len(s)) for s in states]
    )
    whole = [NDArray.from_jax(replicas.split(x, 0), home, shared=False) for x in (*sums, *means)]

    def copy() -> None:
        for members, mean in zip(states, whole[len(grads) :], strict=True):
            for member in members:
                mean.copyto(member)

    return flags, [[x] for x in whole[: len(grads)]], copy


def _copy_first_to_all(weights: Sequence[PerDevice]) -> None:
    for arrays in weights:
        if len(arrays) == 1:
            continue
        if isinstance(arrays, ReplicatedArray):
            arrays.copy_first()
        else:
            for other in arrays[1:]:
                arrays[0].copyto(other)
