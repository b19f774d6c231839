"""An optimizer's states on all devices of a group."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import jax

from ..ndarray import NDArray
from ..optimizer import Updater
from ._stacked import Stacked

#: For every updater, by index: the state that stands in its states, made of first members, and
#: the stacks that these are members of.
_stacks: WeakKeyDictionary[Updater, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()


def stacked_state(updater: Updater, index: Any, like: Stacked) -> Any:
    """The state of a parameter on all devices of ``like``, as a pytree of stacked arrays.

    First members of the stacks stand in the updater's states, so that whoever looks at them, saves
    or replaces them finds them where they always are; all devices follow them.
    """
    known = _stacks.setdefault(updater, {})
    shown = updater.states[index]
    members, stacks = known.get(index, (None, None))
    if shown is not None and shown is members and _leaves(stacks)[0].contexts == like.contexts:
        for one in _leaves(stacks):
            if one.has_written_members:
                spread(one)
        return stacks

    def stack(array: NDArray) -> Stacked:
        value = like.replicas.broadcast(array._value)
        return Stacked(like.contexts, array.shape, array.dtype, value)

    stacks = jax.tree.map(stack, shown)
    members = jax.tree.map(lambda s: s[0], stacks)
    updater.states[index] = members
    known[index] = (members, stacks)
    return stacks


def _leaves(stacks: Any) -> list[Stacked]:
    return jax.tree.leaves(stacks)


def spread(stack: Stacked) -> None:
    """Gives all devices what the first one has."""
    stack._assign(stack.replicas.broadcast(stack[0]._value))
