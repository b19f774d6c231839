"""Pauses of Python's cyclic garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection(pause: bool = True) -> Iterator[None]:
    """The collector pauses in this context, in all threads, if ``pause`` is true.

    For code that builds much and drops little: at each of its full runs the collector walks over
    all objects of the process, 30 to 150 ms after JAX has traced a network, and finds nothing. A
    collector that the user has switched off stays so.
    """
    pauses = pause and gc.isenabled()
    try:
        if pauses:
            gc.disable()
        yield
    finally:
        if pauses:
            gc.enable()
