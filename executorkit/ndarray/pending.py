"""Deferred work and ``waitall``: a weak register of the owners of pending arrays.

An executor registers itself once, when it is made. Work whose results nobody can read any more is
dropped, not done.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Protocol

import jax

from .protocol import PendingValue


class PendingOwner(Protocol):
    """An object whose arrays may be pending, such as an executor."""

    def force(self) -> None:
        """Does the deferred work, if there is any."""


_owners: weakref.WeakSet[PendingOwner] = weakref.WeakSet()
_lock = threading.Lock()


def register_pending_owner(owner: PendingOwner) -> None:
    """Lets ``waitall`` force ``owner``'s work, as long as the owner lives."""
    with _lock:
        _owners.add(owner)


def resolve_pending(arrays: Iterable[PendingValue]) -> None:
    """Runs every producer that one of these arrays waits for, each once."""
    producers = [array.pending for array in arrays]
    for producer in dict.fromkeys(p for p in producers if p is not None):
        producer.force()


def resolve_all() -> None:
    """Does all deferred work of all owners."""
    with _lock:
        owners = list(_owners)
    for owner in owners:
        owner.force()


def waitall() -> None:
    """Waits until all deferred and running work is done; an error in it is raised here."""
    resolve_all()
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])
