"""Atomic work: what an exception interrupts is undone, or done to its end.

An exception, a KeyboardInterrupt say, may come at any bytecode. Counts, random streams and steps
that have begun return by :class:`Rollback`; what consists of several atomic parts is ended by
:func:`complete` and :func:`all_or_none` before the exception goes on.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from ..arrays.random_state import StreamPositions
from ..program import ThreadState

T = TypeVar("T")


class Rollback:
    """A context that undoes what its block has begun, after any exception.

        with Rollback(lambda: self.n_updates > before) as rollback:
            rollback.add(step.withdraw)
            ...

    has_happened
        called after an exception; nothing is undone if it returns True, as at the end of the block.
    streams
        whether random streams return to their positions, after everything else.

    The thread leaves 64-bit mode and traces that the exception has kept open in any case.
    """

    __slots__ = ("_has_happened", "_thread", "_undos")

    def __init__(
        self, has_happened: Callable[[], bool] = lambda: False, streams: bool = False
    ) -> None:
        self._has_happened = has_happened
        self._undos: list[Callable[[], object]] = [StreamPositions().rewind] if streams else []
        self._thread = ThreadState()

    def add(self, undo: Callable[[], object]) -> None:
        """Has ``undo`` called, before the earlier ones. It may find nothing to do."""
        self._undos.append(undo)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            return
        self._thread.restore()
        if not self._has_happened():
            for undo in reversed(self._undos):
                undo()


def complete(action: Callable[[], T]) -> T:
    """Runs an action that may be run twice; an exception that interrupts it, a KeyboardInterrupt
    say, is raised after it was run to its end."""
    try:
        return action()
    except BaseException:
        action()
        raise


def all_or_none(actions: Sequence[tuple[Callable[[], Any], Callable[[], Any]]]) -> None:
    """Runs actions, each of which is atomic by itself, so that they are atomic together.

    actions
        each with a function whose value changes when the action has come about.

    An exception before the first has come about is raised at once; a later one is raised after all
    actions have been run.
    """
    before = [value() for _, value in actions]
    try:
        for action, _ in actions:
            action()
    except BaseException:
        missing = [a for (a, value), old in zip(actions, before, strict=True) if value() == old]
        if len(missing) < len(actions):
            for action in missing:
                action()
        raise
