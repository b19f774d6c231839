"""Where a run reads its arguments from and writes its results to, found once per executor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax

from ..ndarray import NDArray
from ..ndarray._storage import Producer, Storage


class BufferRef:
    """In the place of a Storage for what is none of its own: a view of a part of one, the stacked
    array of a group."""

    __slots__ = ("_array",)

    #: To be asked for: it may have changed.
    value = None

    def __init__(self, array: Any) -> None:
        self._array = array

    def whole(self) -> jax.Array:
        """The contents."""
        return self._array.value

    def defer(self, producer: Producer) -> None:
        """The contents will come from ``resolve()``."""
        self._array.defer(producer)

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Assigns ``value`` if ``resolve`` is still what the array waits for."""
        return self._array.set_result(producer, value)


BufferRefs = tuple[Storage | BufferRef, ...]


class Buffers(NamedTuple):
    """The slots of an executor's arguments, auxiliary states, gradients and outputs."""

    args: BufferRefs
    aux: BufferRefs
    grads: BufferRefs
    outputs: BufferRefs

    @staticmethod
    def of(args: Any, aux: Any, grads: Any, outputs: Any) -> Buffers:
        """From lists of NDArrays, or of what can be read, promised and fulfilled like one."""
        return Buffers(
            _buffer_refs(args), _buffer_refs(aux), _buffer_refs(grads), _buffer_refs(outputs)
        )


def _buffer_refs(arrays: Iterable[Any]) -> BufferRefs:
    return tuple(
        [a.storage if isinstance(a, NDArray) and a.covers_storage else BufferRef(a) for a in arrays]
    )


def read_buffers(slots: BufferRefs) -> tuple[jax.Array, ...]:
    """The contents of slots, those that are promised computed first."""
    return tuple([s.whole() if (value := s.value) is None else value for s in slots])
