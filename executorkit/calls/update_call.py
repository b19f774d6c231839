"""Updates inside a program: a call of an optimizer, and the step that may take it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from .._support.annotations import Raw, Tree
from ..arrays.protocol import PendingValue


class UpdateCall:
    """One call of an optimizer's update, to be computed inside a pending step."""

    __slots__ = ("attached", "hyperparams", "key_data", "state", "undo", "update")

    def __init__(
        self,
        update: Any,
        state: Tree,
        hyperparams: Sequence[float],
        key_data: Raw,
        undo: Callable[[], object] = lambda: None,
    ) -> None:
        #: ``update(weights, grads, state, hyperparams, key_data) -> new weights, new state``, pure
        #: and traceable.
        self.update = update
        #: A pytree of :class:`PendingValue`: read when the step runs, and assigned its results.
        self.state = state
        #: Numbers that change from step to step (learning rates, ...).
        self.hyperparams = hyperparams
        #: The words of a PRNG key, or None for an update that draws no random numbers.
        self.key_data = key_data
        #: Restores the optimizer's counts, if the update is withdrawn.
        self.undo = undo
        #: True if the update is a part of a step, or has been computed as one.
        self.attached = False


class UpdatableStep(ABC):
    """A producer of gradients whose program an update can become a part of."""

    __slots__ = ()

    @abstractmethod
    def attach_update(
        self,
        weights: Sequence[PendingValue],
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        """Makes an update of ``weights`` a part of the program; False, with nothing changed, if
        that is impossible. ``prepare`` is called only once the gradients are known to be this
        step's; it returns None to decline."""
