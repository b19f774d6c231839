"""Python's cyclic garbage collector: its pauses, and the generations of objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection(pause: bool = True) -> Iterator[None]:
    """Pauses the collector in this context, in all threads, if ``pause`` is true.

    For code that builds much and drops little: each full run of the collector walks over all
    objects of the process, 30 to 150 ms after JAX has traced a network. A collector that the user
    has switched off stays so.
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
    """Moves all objects to the oldest generation, unless the user has set some apart
    (``gc.freeze``).

    For the end of an import: otherwise the next collection would walk over the imported objects, 10
    to 30 ms in the first call of a network.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
