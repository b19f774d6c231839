"""Samplers of ``mx.gluon.contrib.data``."""

from collections.abc import Iterator

from ....errors import ArgumentValueError
from ...data import Sampler


class IntervalSampler(Sampler):
    """Indices ``0..length-1`` at steps of ``interval``, for a corpus that is read at several places
    at once; with ``rollover`` it begins again at 1, 2, ... until all indices have come. ``len()``
    is ``length`` even without. Raises AssertionError (ArgumentValueError) for an interval outside
    ``1..length``.

    >>> list(IntervalSampler(7, 3)), list(IntervalSampler(7, 3, rollover=False))
    ([0, 3, 6, 1, 4, 2, 5], [0, 3, 6])
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 1 <= interval <= length:
            problem = f"{interval}, expected 1 to {length}, the length"
            raise ArgumentValueError("IntervalSampler: interval", problem)
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length
