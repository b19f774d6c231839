"""Work that was put off: who holds promises that ``waitall`` must have kept.

An executor registers itself when it promises outputs or gradients. The registry is weak: work
that nobody can look at any more is dropped, not done.
"""

from __future__ import annotations

import weakref
from typing import Protocol

import jax


class Pending(Protocol):
    """Someone with outstanding promises."""

    def force(self) -> None:
        """Does the work that was put off, if any is."""


_pending: weakref.WeakSet[Pending] = weakref.WeakSet()


def register(owner: Pending) -> None:
    """Remembers that ``owner`` has promises to keep; registering twice is harmless."""
    _pending.add(owner)


def force_all() -> None:
    """Has all outstanding promises kept."""
    while _pending:
        try:
            owner = _pending.pop()
        except KeyError:  # the last owner was collected just now
            return
        owner.force()


def waitall() -> None:
    """Waits until everything put off or running is done; an error in it is raised here."""
    force_all()
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])
