"""First calls of training: interpreted as long as the training is young.

A training that is repeated in the same process, or resumed from its files in another one, has to be
equal to the last bit. So it must not matter what a process has called, traced or compiled before:
what decides is the *age* of the training and the program. The age is the number of updates that the
optimizer has counted, which is restored with its states. An executor whose optimizer is not known
counts its own steps, and those of the executors that it was reshaped from. A repetition begins at 0
again.

Each program of training is interpreted below an age that follows from its size, even where it has
been compiled meanwhile, and compiled from there on. It is compiled in the background some steps
earlier; the first step that needs it waits for it.

Programs of which a call takes long are compiled at once, whatever the age; so is the training of
groups of devices, of programs in the disk cache, and of executors and modules that compile ahead.
Many trainings of the same shapes in one process are compiled from a fixed number on: a script that
binds anew for each batch would have every step interpreted otherwise. They are equal to the earlier
ones but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ._background_tasks import CompileTask, submit
from ._first_calls import (
    LARGE_SECONDS,
    MAX_SHAPES,
    FirstCalls,
    InterpretedFunction,
    settings_allow,
)

#: Age from which on everything is compiled.
MAX_AGE = 64
#: Minimum number of steps that are interpreted, if one is.
_MIN_STEPS = 4
#: Maximum estimated seconds of a step that is interpreted. Above, it takes so much longer than the
#: compiled program that the steps until this takes over would be slower than compiling.
_MAX_SECONDS = 0.05
#: Number of trainings of the same shapes whose first steps are interpreted.
MAX_TRAININGS = 32


class InterpretedStep(InterpretedFunction):
    """A function of training with the ages at which it is compiled.

    compile_at
        age from which on the program is compiled in the background: half of the way for a small
        one, so that a script of a few steps compiles nothing.
    take_over_at
        age from which on the compiled program runs.
    trainings
        number of calls at age 0.
    """

    __slots__ = ("compile_at", "take_over_at", "trainings")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        calls = round(self.compilation / max(self.estimate, 1e-3))
        self.take_over_at = min(max(calls, _MIN_STEPS), MAX_AGE)
        self.compile_at = 1 if self.estimate > LARGE_SECONDS else self.take_over_at // 2
        self.trainings = 0

    def covers(self, age: int, max_trainings: float) -> bool:
        """True if the step at such an age is interpreted. Counts a training that begins."""
        if age == 0:
            self.trainings += 1
        return age < self.take_over_at and self.trainings <= max_trainings


class FirstSteps:
    """The calls of a function in young trainings; ``allowed()`` is False where none of them may be
    interpreted.

    ``max_trainings`` is the number of trainings of the same shapes whose first steps are
    interpreted, infinite for a function that one training calls many times at one age.

    tasks
        compilations in the background that nobody has waited for, by signature of the arguments.
    """

    __slots__ = ("_allowed", "_calls", "_max_trainings", "_plans", "_requested", "tasks")

    def __init__(
        self,
        calls: FirstCalls,
        allowed: Callable[[], bool],
        max_trainings: float = MAX_TRAININGS,
    ) -> None:
        self._calls = calls
        self._allowed = allowed
        self._max_trainings = max_trainings
        #: Interpreted steps by signature; None for a program that is compiled at once.
        self._plans: dict[Hashable, InterpretedStep | None] = {}
        #: Signatures for which a compilation was asked for.
        self._requested: set[Hashable] = set()
        self.tasks: dict[Hashable, CompileTask] = {}

    def interpretation(self, args: Sequence[Any], age: int) -> InterpretedStep | None:
        """The interpretation of a call at such an age; None where the compiled program runs.

        Traces the function where the arguments' shapes are new, and waits for the program that is
        compiled in the background if it is its turn.
        """
        if not (age < MAX_AGE or self.tasks) or not self._allowed() or not settings_allow():
            return None
        leaves, signature = self._calls.split(args)
        step = self._plans.get(signature, _NEW)
        if step is _NEW and age < MAX_AGE:
            step = self._plans[signature] = self._planned(args, leaves)
        if step is None or step is _NEW:
            return None
        if age >= step.compile_at and signature not in self._requested:
            self._requested.add(signature)
            self.tasks[signature] = submit(self._calls.compilation(args))
        if step.covers(age, self._max_trainings):
            return step
        task = self.tasks.pop(signature, None)
        if task is not None:
            task.finish()
        return None

    @property
    def full(self) -> bool:
        """True if the function should begin anew before it meets further shapes."""
        return len(self._plans) >= MAX_SHAPES

    def _planned(self, args: Sequence[Any], leaves: Sequence[Any]) -> InterpretedStep | None:
        planned = self._calls.planned(args, leaves)
        if planned is None:
            return None
        step = InterpretedStep(*planned)
        return step if step.estimate <= min(_MAX_SECONDS, step.compilation) else None


_NEW: Any = object()
