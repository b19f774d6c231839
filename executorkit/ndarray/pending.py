"""Work that was put off: who holds promises that ``waitall`` must have kept.

An executor registers itself once, when it is made. The registry is weak: work that nobody can look
at any more is dropped, not done.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Protocol

import jax


class Promised(Protocol):
    """An array whose contents may be promised."""

    @property
    def pending(self) -> Callable[[], object] | None: ...


class PendingOwner(Protocol):
    """Someone who may have outstanding promises."""

    def force(self) -> None:
        """Does the work that was put off, if any is."""


_pending: weakref.WeakSet[PendingOwner] = weakref.WeakSet()
_lock = threading.Lock()


def register_pending_owner(owner: PendingOwner) -> None:
    """Remembers that ``owner`` may have promises to keep, as long as it lives."""
    with _lock:
        _pending.add(owner)


def resolve_pending(arrays: Iterable[Promised]) -> None:
    """Has the work done that any of these arrays waits for."""
    awaited = [a.pending for a in arrays]
    for producer in dict.fromkeys(p for p in awaited if p is not None):
        # One whose result was used up says so when it is read; there is nothing to be done for it.
        getattr(producer, "force", producer)()


def resolve_all() -> None:
    """Has all outstanding promises kept."""
    with _lock:
        owners = list(_pending)
    for owner in owners:
        owner.force()


def waitall() -> None:
    """Waits until everything put off or running is done; an error in it is raised here."""
    resolve_all()
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])
