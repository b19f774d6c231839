"""Deferred work and ``waitall``: a weak register of the owners of pending arrays.

An executor registers itself when it defers something, until ``waitall`` has forced it. Work whose
results cannot be read any more is dropped.
"""

import threading
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

import jax

from ..jax_internals import wait_for_arrays
from ..program import deferred_errors
from .protocol import PendingValue


class PendingOwner(Protocol):
    def force(self) -> None: ...


_owners: weakref.WeakSet[PendingOwner] = weakref.WeakSet()
_lock = threading.RLock()


def register_pending_owner(owner: PendingOwner) -> None:
    """Lets ``waitall`` force ``owner``'s work, as long as the owner lives and stays registered."""
    with _lock:
        _owners.add(owner)


def unregister_pending_owner(owner: PendingOwner) -> None:
    with _lock:
        _owners.discard(owner)


def resolve_pending(arrays: Iterable[PendingValue]) -> None:
    producers = [array.pending for array in arrays if array.current is None]
    for producer in dict.fromkeys(p for p in producers if p is not None):
        producer.force()


def resolve_all() -> None:
    """Does all deferred work, and raises the first error at the end, once."""
    with _lock:
        owners = list(_owners)
    errors = []
    for owner in owners:
        try:
            owner.force()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


#: References to arrays whose computation has failed, and whose error ``waitall`` has raised.
_reported: list[weakref.ref[Any]] = []


def waitall() -> None:
    """Waits until all deferred and running work is done; an error in it is raised here, once."""
    resolve_all()
    if deferred_errors.open:
        deferred_errors.raise_any()
    _reported[:] = [reference for reference in _reported if reference() is not None]
    arrays = jax.live_arrays()  # without deleted ones
    if _reported:
        known = {id(reference()) for reference in _reported}
        arrays = [a for a in arrays if id(a) not in known]
    try:
        wait_for_arrays(arrays)
    except Exception:
        errors = []
        for array in arrays:
            try:
                array.block_until_ready()
            except Exception as error:
                if not array.is_deleted():  # another thread has donated it meanwhile
                    _reported.append(weakref.ref(array))
                    errors.append(error)
        if errors:
            raise errors[0] from None
