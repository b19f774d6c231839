"""Where a step's results go that no NDArray shows: the optimizer's state, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


class StateRef:
    """A value that a program replaces, as an NDArray's is: read, promised, fulfilled."""

    __slots__ = ("_promise_of", "value")

    def __init__(self, value: jax.Array) -> None:
        self.value: Any = value
        self._promise_of: Callable[[], Any] | None = None

    def assign(self, value: jax.Array) -> None:
        self.value = value

    def defer(self, producer: Callable[[], Any]) -> None:
        self.value = None
        self._promise_of = producer

    def set_result(self, producer: Callable[[], Any], value: jax.Array) -> bool:
        self.value = value
        self._promise_of = None
        return True


class DiscardedGradient:
    """In the place of a gradient that nobody asks for."""

    __slots__ = ()
    pending = None

    def defer(self, producer: Callable[[], Any]) -> None:
        """Nothing waits."""

    def set_result(self, producer: Callable[[], Any], value: Any) -> bool:
        return False


UNKEPT = DiscardedGradient()
