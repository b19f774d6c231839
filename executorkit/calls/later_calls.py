"""Calls on values that were recorded and are not computed yet: such a call waits, too.

``loss.mean()`` after the block of ``record()`` would make forward run by itself, without backward
and update in one program. So it is computed when it is read, from the loss that this program
returns. It keeps copies of its inputs, so that later writes do not matter. Few calls wait at a
time, of small inputs; a call that no longer waits for a recording is computed before another call
depends on it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np

from .._support.annotations import Raw, Tree
from ..arrays.handle import Handle
from ..arrays.pending import register_pending_owner, unregister_pending_owner
from ..arrays.protocol import Producer
from ..arrays.storage import Storage
from ..program import MadeContents

#: Maximum number of calls that wait, and of bytes of their inputs.
_MAX_CALLS, _MAX_BYTES = 16, 1 << 25
#: Maximum number of calls that wait for one another.
_MAX_DEPTH = 8


class CopyingProducer(Producer, Protocol):
    """A producer whose values calls wait for."""

    def copied(self, storage: Storage) -> Storage | None:
        """Returns a read-only storage that waits for the same contents; None if these are computed,
        or the producer cannot serve another storage."""
        ...


def waits(array: Handle) -> bool:
    producer = array.storage.producer
    return producer is not None and producer.copies


def waiting_copy(array: Handle) -> Handle | None:
    """Returns an array that waits for the same contents; None if they exist or have to be read."""
    storage = array.storage
    producer = storage.producer
    if producer is None or not producer.copies:
        return None
    copy = cast("CopyingProducer", producer).copied(storage)
    return None if copy is None else _view(array, copy)


def unwritten(array: Raw) -> Tree:
    """Returns an array with the present, or pending, contents, whatever is written later."""
    if isinstance(array, np.ndarray):
        return np.array(array)
    if not isinstance(array, Handle):
        return array
    copy = _copy(array)
    return array.from_jax(array.jax, array.context) if copy is None else copy


def _view(array: Handle, storage: Storage) -> Handle:
    return array.shown_in(storage)


def _copy(array: Handle) -> Handle | None:
    copy = waiting_copy(array)
    if copy is not None:
        return copy
    producer = array.storage.producer
    if isinstance(producer, MadeContents):  # which make the same again
        storage = Storage(array.storage.shape, array.storage.dtype, producer=producer)
        return _view(array, storage)
    return None if waits(array) else array.from_jax(array.jax, array.context)


class LaterCall:
    """A call that is computed when a result is read: the producer of its results."""

    __slots__ = ("__weakref__", "_failed", "_function", "_inputs", "_results", "depth", "n_bytes")

    copies = True

    def __init__(
        self,
        function: Callable[[Sequence[Handle]], Sequence[Handle]],
        inputs: Sequence[Handle],
        results: Sequence[Storage],
    ) -> None:
        self._function = function
        self._inputs: Sequence[Handle] = inputs
        self._results = [[weakref.ref(storage)] for storage in results]
        self._failed = False
        producers = [x.storage.producer for x in inputs]
        #: The number of calls that wait for one another, itself included.
        self.depth = 1 + max((p.depth for p in producers if isinstance(p, LaterCall)), default=0)
        #: The size of its inputs.
        self.n_bytes = sum([x.storage.size * x.storage.dtype.itemsize for x in inputs])
        register_pending_owner(self)

    @property
    def source(self) -> Producer:
        return self

    @property
    def is_ready(self) -> bool:
        producers = [x.storage.producer for x in self._inputs]
        return all(
            p is None or (p.is_ready if isinstance(p, LaterCall) else not p.copies)
            for p in producers
        )

    @property
    def is_waiting(self) -> bool:
        return len(self._inputs) > 0

    def __call__(self) -> None:
        inputs = self._inputs
        if not inputs:
            return
        for array in inputs:
            if waits(array):
                array.storage.producer()  # type: ignore[union-attr,operator,misc]
        try:
            results = self._function(inputs)
        except Exception:
            self._failed = True
            raise
        for references, result in zip(self._results, results, strict=True):
            for reference in references:
                storage = reference()
                if storage is not None:
                    storage.set_result(self, result.value)
        unregister_pending_owner(self)
        self._inputs = ()

    def force(self) -> None:
        """Computes, unless that has failed, and the error was raised."""
        if not self._failed:
            self()

    def copied(self, storage: Storage) -> Storage | None:
        if self._failed or self.depth >= _MAX_DEPTH:
            return None
        if self.is_ready:
            self()
            return None
        copy = Storage(storage.shape, storage.dtype, producer=self)
        for references in self._results:
            if any(reference() is storage for reference in references):
                references.append(weakref.ref(copy))
                return copy
        return None


_latest: deque[weakref.ref[LaterCall]] = deque()


def later_call(
    function: Callable[[Sequence[Handle]], Sequence[Handle]],
    cls: type[Handle],
    arrays: Sequence[Handle],
    types: Sequence[tuple[tuple[int, ...], np.dtype]],
    out: Handle | None = None,
) -> list[Handle] | None:
    """Returns the pending results, of these shapes and dtypes, of a call; None if it must be
    computed now, because none of its inputs waits for a recorded call, or it cannot wait.
    ``function`` computes the results of copies of the arrays. ``out`` is the array that the only
    result is written to."""
    inputs: list[Handle] = []
    for array in arrays:
        copy = _copy(array)
        if copy is None:
            return None
        inputs.append(copy)
    if not any(waits(x) for x in inputs):
        return None
    storages = [Storage(*kind) for kind in types] if out is None else [out.storage]
    call = LaterCall(function, inputs, storages)
    for storage in storages:
        storage.defer(call)
    _latest.append(weakref.ref(call))
    _compute_some()
    if out is not None:
        return [out]
    context = arrays[0].context
    return [cls.from_storage(s, 0, s.shape, context) for s in storages]


def _compute_some() -> None:
    calls = [call for reference in list(_latest) if (call := reference()) and call.is_waiting]
    size = sum([call.n_bytes for call in calls])
    while len(calls) > 1 and (len(calls) > _MAX_CALLS or size > _MAX_BYTES):
        call = calls.pop(0)
        size -= call.n_bytes
        try:
            call()
        except Exception:  # raised where a result is read
            continue
    _latest.clear()
    _latest.extend([weakref.ref(call) for call in calls])
