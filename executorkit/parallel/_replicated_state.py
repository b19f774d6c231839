"""The states of an optimizer on all devices of a group."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax

from ..ndarray import NDArray
from ..optimizer import Updater
from ._replicated_array import ReplicatedArray


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
_replicated_states: WeakKeyDictionary[Updater, dict[Any, _States]] = WeakKeyDictionary()


def replicated_state(updater: Updater, index: Any, weight: ReplicatedArray) -> Any:
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
                    broadcast_first(array)
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


def broadcast_first(array: ReplicatedArray) -> None:
    """Copies the first device's array to all devices."""
    array.assign(array.replicas.broadcast(array[0].value))
