"""``mx.engine``: MXNet's bulk execution of operators, accepted and without effect.

Executors compile a graph to one program, and ``forward`` and ``backward`` are deferred until a
result is read, so that there is nothing left to be put together.
"""

from __future__ import annotations

import threading

__all__ = ["bulk", "set_bulk_size"]


class _BulkSize(threading.local):
    """The number that this thread has set."""

    def __init__(self) -> None:
        self.size = 0


_current = _BulkSize()


def set_bulk_size(size: int) -> int:
    """Stores ``size``, without effect; returns the previous number."""
    previous, _current.size = _current.size, int(size)
    return previous


class _BulkScope:
    """A bulk size for the length of a ``with`` block."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._previous = 0

    def __enter__(self) -> _BulkScope:
        self._previous = set_bulk_size(self._size)
        return self

    def __exit__(self, *exc: object) -> None:
        set_bulk_size(self._previous)


def bulk(size: int) -> _BulkScope:
    """A ``with`` block with a bulk size, without effect.

    >>> with bulk(10):
    ...     set_bulk_size(10)
    10
    """
    return _BulkScope(size)
