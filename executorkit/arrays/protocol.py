"""The pending-value protocol: arrays whose contents may still have to be computed.

An executor defers its outputs, gradients and states to a *producer*, the step that will compute
them when one of them is read. A :class:`PendingValue` holds contents or waits for a producer: a
storage, an NDArray, a replicated array of a group. A :class:`Producer` computes contents: a pending
step, the contents of a storage at its first read, a member's part of a replicated array.
"""

from __future__ import annotations

from typing import Protocol

import jax


class Producer(Protocol):
    """Work that was deferred; it sets the results of every array that waits for it."""

    @property
    def copies(self) -> bool:
        """True if calls on its arrays wait, too (``calls.later_calls``)."""
        ...

    @property
    def source(self) -> Producer | None:
        """The producer that computes the contents: this one; None if it only fills or copies."""
        ...

    def __call__(self) -> object:
        """Computes, and calls ``set_result`` of the arrays that wait."""
        ...

    def force(self) -> object:
        """Computes as a call does; ignores results that were consumed already."""
        ...


class PendingValue(Protocol):
    """An array that is computed, or will be by its producer when it is read."""

    @property
    def value(self) -> jax.Array:
        """The contents, computed first if pending. The next update may donate the buffer: hand
        ``NDArray.jax`` out, not this."""
        ...

    @property
    def current(self) -> jax.Array | None:
        """The contents if they can be read without any work, else None."""
        ...

    @property
    def pending(self) -> Producer | None:
        """The producer that reading would run; None if nothing has to be computed."""
        ...

    def defer(self, producer: Producer) -> None:
        """Lets the contents come from ``producer``; what was deferred before is cancelled."""
        ...

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Stores ``value`` and returns True if ``producer`` is still what the array waits for."""
        ...

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the contents without checks or copies, and cancels deferred contents. ``value``
        has the array's shape, dtype and device; ``shared`` says that its buffer is held elsewhere,
        so that it must not be donated."""
        ...
