"""``mx.engine``: MXNet's bulk execution of operators, without effect, since executors compile a
graph to one program."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: The number that each thread has set, in ``size``.
_current = threading.local()


def set_bulk_size(size: int) -> int:
    """Stores ``size``, without effect; returns the previous number."""
    previous, _current.size = getattr(_current, "size", 0), int(size)
    return previous


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """Enters a block with a bulk size, without effect.

    >>> with bulk(10):
    ...     set_bulk_size(10)
    10
    """
    previous = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(previous)
