"""Where a step's results go that no NDArray shows: the optimizer's state, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


class Cell:
    """A value that a program replaces, as an NDArray's is: read, promised, fulfilled."""

    __slots__ = ("_promise_of", "_value")

    def __init__(self, value: jax.Array) -> None:
        self._value: Any = value
        self._promise_of: Callable[[], Any] | None = None

    def _assign(self, value: jax.Array) -> None:
        self._value = value

    def _promise(self, resolve: Callable[[], Any]) -> None:
        self._value = None
        self._promise_of = resolve

    def _fulfil(self, resolve: Callable[[], Any], value: jax.Array) -> bool:
        self._value = value
        self._promise_of = None
        return True


class Unkept:
    """In the place of a gradient that nobody asks for."""

    __slots__ = ()
    _awaited = None

    def _promise(self, resolve: Callable[[], Any]) -> None:
        """Nothing waits."""

    def _fulfil(self, resolve: Callable[[], Any], value: Any) -> bool:
        return False


UNKEPT = Unkept()
