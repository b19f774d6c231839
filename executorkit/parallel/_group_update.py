"""One update of a group's parameters by the sum of its gradients.

It is in the program that computes them, as a collective (:func:`attach_replicated`), or after it
(:func:`update_by_sum`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import jax

from ..ndarray import NDArray
from ..ndarray.protocol import PendingValue
from ..ndarray.rollback import Rollback
from ..optimizer.update_call import UpdateCall
from ._group_parameters import all_reduce
from ._replicated_array import PerDevice, ReplicatedArray


class GroupUpdater(Protocol):
    """An updater that can be a part of a program, such as :class:`executorkit.optimizer.Updater`.

    states
        for each index the state of a parameter: a pytree of NDArrays.
    """

    states: dict[Any, Any]

    def attach(
        self, indices: Any, first_weights: Any, weights: Any, grads: Any, state_of: Any
    ) -> UpdateCall | None:
        """See :meth:`executorkit.optimizer.Updater.attach`."""
        ...

    def __call__(self, index: Any, grad: Any, weight: Any) -> object:
        """Updates weights in place, given lists."""
        ...


class _States(NamedTuple):
    """An optimizer's state of one parameter on all devices.

    members
        the state that is found in the updater's states, made of the first devices' arrays.
    arrays
        the replicated arrays that these are members of.
    """

    members: Any
    arrays: Any


#: For each updater, by index of the parameter.
_replicated_states: WeakKeyDictionary[GroupUpdater, dict[Any, _States]] = WeakKeyDictionary()


def _replicated_state(updater: GroupUpdater, index: Any, weight: ReplicatedArray) -> Any:
    """The state of a parameter on all devices of ``weight``, as a pytree of replicated arrays.

    Their first members replace the state in ``updater.states``, so that it can be read, saved and
    replaced there as usual; all devices follow them.
    """
    states = _replicated_states.setdefault(updater, {})
    present = updater.states[index]
    cached = states.get(index)
    if cached is not None and present is not None and present is cached.members:
        arrays = _leaves(cached.arrays)
        if arrays[0].contexts == weight.contexts:
            for array in arrays:
                if array.has_written_members:
                    _broadcast_first(array)
            return cached.arrays

    def replicate(array: NDArray) -> ReplicatedArray:
        value = weight.replicas.broadcast(array.value)
        return ReplicatedArray(weight.contexts, array.shape, array.dtype, value)

    replicated = jax.tree.map(replicate, present)
    updater.states[index] = members = jax.tree.map(lambda array: array[0], replicated)
    states[index] = _States(members, replicated)
    return replicated


def _leaves(state: Any) -> list[ReplicatedArray]:
    return jax.tree.leaves(state)


def _broadcast_first(array: ReplicatedArray) -> None:
    """Copies the first device's array to all devices."""
    array.assign(array.replicas.broadcast(array[0].value))


def attach_replicated(
    updater: GroupUpdater,
    indices: Sequence[Any],
    weights: Sequence[ReplicatedArray],
    grads: Sequence[PendingValue],
) -> UpdateCall | None:
    """Makes the update of replicated weights a part of the pmapped step that computes their
    gradients, and sums them over the devices; None, and nothing has changed, if that cannot be."""
    return updater.attach(
        indices, [w[0] for w in weights], weights, grads,
        state_of=lambda index: _replicated_state(updater, index, weights[0]),
    )  # fmt: skip


def update_by_sum(
    updater: Any,
    indices: Sequence[Any],
    weights: Sequence[PerDevice],
    grads: Sequence[PerDevice],
    all_processes: bool = False,
) -> None:
    """Updates the first device's weights by the sum of the gradients, and copies them to all.

    all_processes
        sums over the devices of all processes, which wait for each other.

    After an exception all devices have the weights as they were, or as after the update.
    """
    if all_processes or len(grads[0]) > 1:
        # Lists are summed by this process for itself, replicated arrays over all processes.
        grads = all_reduce(grads if all_processes else [list(g) for g in grads])
    with Rollback() as rollback:
        # The first device's weights may be the new ones already.
        rollback.add(partial(_copy_first_to_all, weights))
        updater(indices, [g[0] for g in grads], [w[0] for w in weights])
        _copy_first_to_all(weights)


def _copy_first_to_all(weights: Sequence[PerDevice]) -> None:
    for arrays in weights:
        if len(arrays) == 1:
            continue
        if isinstance(arrays, ReplicatedArray):
            _broadcast_first(arrays)
        else:
            for other in arrays[1:]:
                arrays[0].copyto(other)
