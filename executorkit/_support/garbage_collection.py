"""Python's cyclic garbage collector: its pauses, and the generations of objects."""

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


def promote_all_objects() -> None:
    """Moves all objects to the oldest generation without a look at them, unless the user has set
    some apart (``gc.freeze``).

    For the end of an import: what was imported stays, and the next collection of young objects
    would walk over it, 10 to 30 ms in the first call of a network.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
