"""Where a run reads its arguments from and writes its results to, found once per executor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax

from ..ndarray import NDArray
from ..ndarray._storage import Resolve, Storage


class Slot:
    """In the place of a Storage for what is none of its own: a view of a part of one, the stacked
    array of a group."""

    __slots__ = ("_array",)

    #: To be asked for: it may have changed.
    value = None

    def __init__(self, array: Any) -> None:
        self._array = array

    def whole(self) -> jax.Array:
        """The contents."""
        return self._array._value

    def promise_all(self, resolve: Resolve) -> None:
        """The contents will come from ``resolve()``."""
        self._array._promise(resolve)

    def fulfil(self, resolve: Resolve, value: jax.Array) -> bool:
        """Assigns ``value`` if ``resolve`` is still what the array waits for."""
        return self._array._fulfil(resolve, value)


Slots = tuple[Storage | Slot, ...]


class Places(NamedTuple):
    """The slots of an executor's arguments, auxiliary states, gradients and outputs."""

    args: Slots
    aux: Slots
    grads: Slots
    outputs: Slots

    @staticmethod
    def of(args: Any, aux: Any, grads: Any, outputs: Any) -> Places:
        """From lists of NDArrays, or of what can be read, promised and fulfilled like one."""
        return Places(_slots(args), _slots(aux), _slots(grads), _slots(outputs))


def _slots(arrays: Iterable[Any]) -> Slots:
    return tuple([a._storage if isinstance(a, NDArray) and a._whole else Slot(a) for a in arrays])


def contents(slots: Slots) -> tuple[jax.Array, ...]:
    """The contents of slots, those that are promised computed first."""
    return tuple([s.whole() if (value := s.value) is None else value for s in slots])
