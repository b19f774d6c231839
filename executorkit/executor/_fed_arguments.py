"""The arguments of an executor that change from call to call: data, whatever it is called."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ..program import InferenceHistory
from ._validation import is_input_name


class FedArguments:
    """Positions of the arguments that are fed; all others are expected to stay.

    Fed are data and labels, recognised by name as MXNet does, what ``forward`` was called with, and
    what two calls of inference in succession find changed while most arguments were not.

    history
        of inference: the fed positions, which are empty if none is known.
    """

    __slots__ = ("_changed", "_fed_names", "_positions", "_previous", "history")

    def __init__(self, names: Sequence[str]) -> None:
        self._positions = {name: i for i, name in enumerate(names)}
        self._fed_names = {name for name in names if is_input_name(name)}
        self.history = InferenceHistory(i for i, n in enumerate(names) if n in self._fed_names)
        self._changed: frozenset[int] = frozenset()
        self._previous: list[Any] = []

    def add(self, names: Iterable[str]) -> None:
        """Notes arguments that ``forward`` was called with."""
        if not self._fed_names.issuperset(names):
            self._fed_names.update(names)
            self.history.fed |= {self._positions[name] for name in names}

    def observe(self, args: Sequence[Any]) -> None:
        """Compares the arrays of a call of inference with those of the one before."""
        pairs = enumerate(zip(self._previous, args, strict=False))
        changed = frozenset(i for i, (previous, x) in pairs if previous() is not x)
        if 2 * len(changed) < len(args):
            self.history.fed |= changed & self._changed
        self._changed = changed
        self._previous = [weakref.ref(x) for x in args]

    def confirm(self) -> None:
        """Notes a call that found the other arguments unchanged."""
        self._changed = frozenset()
