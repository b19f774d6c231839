"""An optimizer's states on all devices of a group."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import jax

from ..ndarray import NDArray
from ..optimizer import Updater
from ._replicated_array import ReplicatedArray

#: For every updater, by index: the state that stands in its states, made of first members, and
#: the stacks that these are members of.
_replicated_states: WeakKeyDictionary[Updater, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()


def replicated_state(updater: Updater, index: Any, like: ReplicatedArray) -> Any:
    """The state of a parameter on all devices of ``like``, as a pytree of stacked arrays.

    First members of the stacks stand in the updater's states, so that whoever looks at them, saves
    or replaces them finds them where they always are; all devices follow them.
    """
    known = _replicated_states.setdefault(updater, {})
    shown = updater.states[index]
    members, stacks = known.get(index, (None, None))
    if shown is not None and shown is members and _leaves(stacks)[0].contexts == like.contexts:
        for one in _leaves(stacks):
            if one.has_written_members:
                broadcast_first(one)
        return stacks

    def stack(array: NDArray) -> ReplicatedArray:
        value = like.replicas.broadcast(array.value)
        return ReplicatedArray(like.contexts, array.shape, array.dtype, value)

    stacks = jax.tree.map(stack, shown)
    members = jax.tree.map(lambda s: s[0], stacks)
    updater.states[index] = members
    known[index] = (members, stacks)
    return stacks


def _leaves(stacks: Any) -> list[ReplicatedArray]:
    return jax.tree.leaves(stacks)


def broadcast_first(stack: ReplicatedArray) -> None:
    """Gives all devices what the first one has."""
    stack.assign(stack.replicas.broadcast(stack[0].value))
