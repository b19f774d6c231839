"""The pending-value protocol: arrays whose contents may still have to be computed.

An executor does not run when it is called: it defers its outputs, gradients and states to a
*producer*, the step that will compute them when somebody reads one of them. This file says what
the two sides ask of each other, and nothing else.

A :class:`PendingValue` holds contents or waits for a producer: NDArrays and the storages behind
them, views of parts, the replicated arrays of a group, the references to an optimizer's state. A
:class:`Producer` computes contents: a pending step, the contents that a storage is filled with on
first read, a member's part of a replicated array. Both are structural types: a class has the
methods, and the type checker compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax


class UpdateCall:
    """One call of an optimizer's update, to be computed inside a pending step.

    update
        ``update(weights, grads, state, hyperparams, key_data) -> new weights, new state``, pure
        and traceable.
    state
        a pytree of :class:`PendingValue`: read when the step runs, and assigned its results.
    hyperparams
        numbers that change from step to step (learning rates, ...).
    key_data
        the words of a PRNG key, or None for an update that draws no random numbers.
    undo
        takes back the optimizer's counts of this call, if the update is withdrawn.
    age
        number of updates that the training has seen before; None where nobody has counted them.
    attached
        whether the update is a part of a step, or has been computed as one.
    """

    __slots__ = ("age", "attached", "hyperparams", "key_data", "state", "undo", "update")

    def __init__(
        self,
        update: Any,
        state: Any,
        hyperparams: Sequence[float],
        key_data: Any,
        undo: Callable[[], object] = lambda: None,
        age: int | None = None,
    ) -> None:
        self.update = update
        self.state = state
        self.hyperparams = hyperparams
        self.key_data = key_data
        self.undo = undo
        self.age = age
        self.attached = False


class Producer(Protocol):
    """Work that was deferred; it sets the results of every array that waits for it."""

    @property
    def source(self) -> Producer | None:
        """The producer that computes the contents: this one; None if it only fills or copies."""
        ...

    def __call__(self) -> object:
        """Computes, and calls ``set_result`` of the arrays that wait."""
        ...

    def force(self) -> object:
        """Computes as a call does, and is silent about results that were consumed already."""
        ...

    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        """Makes an update of ``weights`` part of the same program, if it can be one.

        Returns False, with nothing changed, if it cannot. ``prepare`` is called only once it is
        known that the gradients are this producer's; it returns None to decline.
        """
        ...


class PendingValue(Protocol):
    """An array that is there, or will be computed by its producer when it is read."""

    @property
    def value(self) -> jax.Array:
        """The contents, computed first if they are pending.

        The next update may donate the buffer: hand ``NDArray.jax`` out, not this.
        """
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
        """Replaces the contents without checks or copies, and cancels what was deferred.

        ``value`` has the array's shape, dtype and device; ``shared`` says that somebody else holds
        its buffer, so that it must not be donated.
        """
        ...
