"""Atomic work: work that an exception interrupts is undone or completed.

An exception, a KeyboardInterrupt for instance, may come at any bytecode. :class:`Rollback` restores
counts, random streams and steps, or completes a step that can no longer be undone;
:func:`complete` and :func:`all_or_none` complete work of several atomic parts before the exception
goes on.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Self, TypeVar

from ..arrays.random_state import StreamPositions
from ..jax_internals import (
    restore_thread,
    thread_differentiable,
    thread_mesh,
    thread_trace,
    thread_x64,
)

T = TypeVar("T")

#: Stands for a :class:`Rollback` where nothing is to be undone.
NO_ROLLBACK = nullcontext()


class Rollback:
    """A context that undoes the work of its block after any exception, or completes it.

        with Rollback(lambda: self.n_updates > before) as rollback:
            rollback.add(step.withdraw)
            ...

    After an exception nothing is undone if ``has_happened`` returns True, as at the end of the
    block; ``finish``, which may find nothing to do, is called then. ``streams`` returns random
    streams to their positions, after everything else. The thread always leaves 64-bit mode and open
    traces.
    """

    __slots__ = ("_finish", "_has_happened", "_thread", "_undos")

    def __init__(
        self,
        has_happened: Callable[[], bool] = lambda: False,
        streams: bool = False,
        finish: Callable[[], object] = lambda: None,
    ) -> None:
        self._has_happened = has_happened
        self._finish = finish
        self._undos: list[Callable[[], object]] = [StreamPositions().rewind] if streams else []
        self._thread = thread_x64(), thread_differentiable(), thread_mesh(), thread_trace()

    def add(self, undo: Callable[[], object]) -> None:
        """Adds a function to be called before the earlier ones; it may find nothing to undo."""
        self._undos.append(undo)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            return
        restore_thread(*self._thread)
        if self._has_happened():
            self._finish()
            return
        for undo in reversed(self._undos):
            undo()


def complete(action: Callable[[], T]) -> T:
    """Runs an action that may be run twice; raises an interruption after its end."""
    try:
        return action()
    except BaseException:
        action()
        raise


def all_or_none(actions: Sequence[tuple[Callable[[], object], Callable[[], object]]]) -> None:
    """Runs actions so that they are atomic together: each is atomic, and paired with a function
    whose value changes when it has happened. An exception before the first has happened is raised
    at once, a later one after all actions."""
    before = [value() for _, value in actions]

    def missing() -> list[Callable[[], object]]:
        return [a for (a, value), old in zip(actions, before, strict=True) if value() == old]

    def run() -> None:
        for action in missing():
            action()

    with Rollback(lambda: len(missing()) < len(actions), finish=run):
        run()
