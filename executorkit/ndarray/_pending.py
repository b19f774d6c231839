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
    def _awaited(self) -> Callable[[], object] | None: ...


class Pending(Protocol):
    """Someone who may have outstanding promises."""

    def _force(self) -> None:
        """Does the work that was put off, if any is."""


_pending: weakref.WeakSet[Pending] = weakref.WeakSet()
_lock = threading.Lock()


def register(owner: Pending) -> None:
    """Remembers that ``owner`` may have promises to keep, as long as it lives."""
    with _lock:
        _pending.add(owner)


def keep_promises(arrays: Iterable[Promised]) -> None:
    """Has the work done that any of these arrays waits for."""
    awaited = [a._awaited for a in arrays]
    for promise in dict.fromkeys(p for p in awaited if p is not None):
        # One whose result was used up says so when it is read; there is nothing to be done for it.
        getattr(promise, "force", promise)()


def force_all() -> None:
    """Has all outstanding promises kept."""
    with _lock:
        owners = list(_pending)
    for owner in owners:
        owner._force()


def waitall() -> None:
    """Waits until everything put off or running is done; an error in it is raised here."""
    force_all()
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])
