"""What the processes of a job tell each other in the steps that they take together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from ..jax_internals import parts_of
from ..ndarray.random_state import StreamPositions
from ._replicas import Replicas


class Told(NamedTuple):
    """What all processes have told in a step.

    sums
        the sums of their flags over all devices, with an entry for each device.
    undo
        functions that take back what this process has counted for the step.
    """

    sums: jax.Array
    undo: Sequence[Callable[[], object]]

    def flags(self) -> tuple[float, bool]:
        """The share of the processes that have had a batch, and whether one is to stop; waits."""
        idle, stops = np.asarray(parts_of(self.sums)[0])[0]
        return 1 - float(idle) / len(self.sums), bool(stops)


class Lockstep:
    """The steps that this process has taken together with all others.

    Each process adds to a step whether it is without a batch, and whether it has been asked to
    stop. A step that finds one without a batch changes nothing, for any of them.

    steps
        number of steps so far.
    latest
        what was told in those since :meth:`take`.
    stop
        set where this process has been asked to stop: all do, after the same step.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.latest: list[Told] = []
        self.stop = False
        self._idle = False
        self._flags: dict[tuple[Replicas, bool, bool], jax.Array] = {}

    def flags(self, replicas: Replicas) -> jax.Array:
        """The flags of this process in the next step, for each of its devices."""
        key = replicas, self._idle, self.stop
        if key not in self._flags:
            row = np.array(key[1:], np.float32)
            self._flags[key] = replicas.from_host(np.stack([row] * len(replicas)))
        return self._flags[key]

    def note(self, sums: jax.Array, undo: Sequence[Callable[[], object]] = ()) -> Told:
        """Counts a step."""
        self.steps += 1
        told = Told(sums, undo)
        self.latest.append(told)
        return told

    def take(self) -> list[Told]:
        """What was told since the last call."""
        latest, self.latest = self.latest, []
        return latest

    @contextmanager
    def without_batch(self) -> Iterator[None]:
        """Steps in this context say that this process has no batch; random streams are rewound."""
        self._idle, positions = True, StreamPositions()
        try:
            yield
        finally:
            self._idle = False
            positions.rewind()


#: That of this process.
lockstep = Lockstep()


class JointEpoch:
    """The batches of an epoch, which ends for all processes as soon as one has no batch left.

    What a step has found is read one step later, so that nobody waits for it: all end after the
    step that follows the first one that somebody had no batch for, or was asked to stop in.

    stops
        True once all processes are to stop.
    """

    def __init__(self) -> None:
        self.stops = False
        self._count = 0
        self._ends_after: int | None = None
        self._uneven = False
        self._former: list[Told] = []
        self._last: list[Told] = []
        lockstep.take()

    def end_batch(self) -> None:
        """Counts a batch, whose steps have been taken."""
        self._count += 1
        self._former, self._last = self._last, lockstep.take()

    def is_over(self) -> bool:
        """True before a batch that is not to be taken, since another process has none left."""
        self._read(self._former, self._count - 1)
        return self._ends_after is not None and self._count >= self._ends_after

    def finish(self, step: Callable[[], object], logger: Any) -> None:
        """Takes part in the steps of others, after the last batch of this process; ``step`` takes
        one. Steps that somebody had no batch for do not count."""
        while self._last:
            self._read(self._former, self._count - 1)
            self._read(self._last, self._count)
            if self._ends_after is not None and self._count >= self._ends_after:
                break
            with lockstep.without_batch():
                step()
            self.end_batch()
        void = [t for t in (*self._former, *self._last) if t.flags()[0] < 1]
        for told in reversed(void):
            for undo in told.undo:
                undo()
        if self._uneven and not self.stops:
            logger.warning("the epoch ends early: some processes have fewer batches than others")

    def _read(self, told: Sequence[Told], number: int) -> None:
        """Reads what was told in the steps of a batch."""
        if self._ends_after is not None or not told:
            return
        shares, stops = zip(*(t.flags() for t in told), strict=True)
        self.stops = any(stops)
        self._uneven = 0 < min(shares) < 1
        if self.stops or min(shares) < 1:
            self._ends_after = number + (min(shares) > 0)
