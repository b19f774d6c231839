"""Epochs that the processes of a job go through together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._lockstep import Told, lockstep
from ._rank_check import check_ranks


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
        if lockstep.parameters:
            check_ranks([p.value for p in lockstep.parameters])
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
