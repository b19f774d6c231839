"""Paired timing of two equivalent functions: their ratio is comparable across machines.

Ratios are other / ours: above 1, executorkit is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import jax


class PairedTimes(NamedTuple):
    """Median seconds of two functions, and the median of theirs / ours over all pairs of calls:
    above 1, ours is faster."""

    ours: float
    theirs: float
    ratio: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> PairedTimes:
        return cls(
            median(ours for ours, _ in pairs),
            median(theirs for _, theirs in pairs),
            median(theirs / ours for ours, theirs in pairs),
        )


def seconds(function: Callable[[], Any]) -> float:
    """Seconds from the call until everything in its result is computed."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def time_in_pairs(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int) -> PairedTimes:
    """Calls both in pairs, in alternating order, so that other load of the machine affects both."""
    return alternate(lambda: seconds(ours), lambda: seconds(theirs), pairs)


def alternate(
    seconds_of_ours: Callable[[], float], seconds_of_theirs: Callable[[], float], pairs: int
) -> PairedTimes:
    times = []
    for i in range(pairs):
        if i % 2:
            theirs, ours = seconds_of_theirs(), seconds_of_ours()
        else:
            ours, theirs = seconds_of_ours(), seconds_of_theirs()
        times.append((ours, theirs))
    return PairedTimes.of(times)
