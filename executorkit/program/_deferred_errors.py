"""Errors of values, raised where a result is read.

A program with checks (:mod:`executorkit.ops.value_checks`) returns their outcome beside its
results. The outcome is not looked at: it is noted for every array among the results, and for every
array computed from those, and looked at when one of them is read. As in MXNet, an error is raised
once, for whichever array is read first, or by ``waitall``. Programs without checks return nothing
more, and nothing is looked up while no outcome is open.
"""

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax.experimental import checkify

from .._support.annotations import Raw, Tree
from ..errors import MXNetError
from ..ops.value_checks import failed_check

#: Maximum number of outcomes that are open; before one more, the oldest is waited for.
_MAX_OPEN = 256


class _Outcome:
    __slots__ = ("__weakref__", "_error", "_failure", "is_open")

    def __init__(self, error: checkify.Error) -> None:
        self._error = error
        self._failure: MXNetError | None = None
        self.is_open = True

    @property
    def passed(self) -> bool:
        """True if the checks are known, without waiting, to hold."""
        if self.is_open and all(flag.is_ready() for flag in jax.tree.leaves(self._error)):
            self.is_open = self._look() is not None
        return not self.is_open

    def take_error(self) -> MXNetError | None:
        if not self.is_open:
            return None
        self.is_open = False
        return self._look()

    def _look(self) -> MXNetError | None:
        if self._failure is None:
            self._failure = failed_check(self._error)
        return self._failure


class DeferredErrors:
    """The open outcomes of checks, and the arrays that depend on them."""

    def __init__(self) -> None:
        #: Unread outcomes, in the order of their runs. Empty unless a program
        #: with checks has run: asking ``if deferred_errors.open`` costs nothing.
        self.open: list[_Outcome] = []
        self._by_array: dict[int, tuple[weakref.ref[Any], tuple[_Outcome, ...]]] = {}
        self._lock = threading.RLock()

    def note(self, results: Tree, error: checkify.Error) -> None:
        """Notes for all arrays among ``results`` that they are valid only if ``error`` is none."""
        if not jax.tree.leaves(error):
            return
        self._drop_passed()
        while len(self.open) >= _MAX_OPEN:
            self._raise(self.open[:1])
        outcome = _Outcome(error)
        with self._lock:
            self.open.append(outcome)
        self._assign(results, (outcome,))

    def follow(self, inputs: Tree, results: Tree) -> None:
        outcomes = self._outcomes_of(jax.tree.leaves(inputs))
        if outcomes:
            self._assign(results, outcomes)

    def raise_for(self, *arrays: Raw) -> None:
        self._raise(self._outcomes_of(arrays))

    def raise_any(self) -> None:
        """Waits for all checks, and raises the first error that was not raised yet."""
        self._raise(list(self.open))

    def _raise(self, outcomes: Iterable[_Outcome]) -> None:
        try:
            for outcome in outcomes:
                error = outcome.take_error()
                if error is not None:
                    raise error
        finally:
            self._drop_passed()

    def _outcomes_of(self, arrays: Iterable[Raw]) -> tuple[_Outcome, ...]:
        outcomes: dict[_Outcome, None] = {}
        for array in arrays:
            entry = self._by_array.get(id(array))
            if entry is not None and entry[0]() is array:
                outcomes.update((o, None) for o in entry[1] if o.is_open)
        return tuple(outcomes)

    def _assign(self, results: Tree, outcomes: tuple[_Outcome, ...]) -> None:
        for array in jax.tree.leaves(results):
            if isinstance(array, jax.Array):
                key = id(array)
                earlier = self._outcomes_of((array,))
                reference = weakref.ref(array, self._forget(key))
                self._by_array[key] = reference, tuple(dict.fromkeys((*earlier, *outcomes)))

    def _forget(self, key: int) -> Callable[[weakref.ref[Any]], None]:
        def forget(reference: weakref.ref[Any]) -> None:
            if self._by_array.get(key, (None,))[0] is reference:
                del self._by_array[key]

        return forget

    def _drop_passed(self) -> None:
        with self._lock:
            self.open = [o for o in self.open if not o.passed]
        if not self.open:
            self._by_array.clear()


deferred_errors = DeferredErrors()
