"""Paired timing of two equivalent functions: their ratio is comparable across machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import jax


class PairedTimes(NamedTuple):
    """Median seconds of two functions, and the median of theirs / ours over all pairs of calls:
    above 1, ours is faster."""

    ours: float
    theirs: float
    ratio: float


def seconds(function: Callable[[], Any]) -> float:
    """Seconds from the call until everything in its result is computed."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def time_in_pairs(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int) -> PairedTimes:
    """Calls both in pairs, in alternating order, so that other load of the machine affects both."""
    times = []
    for i in range(pairs):
        if i % 2:
            second, first = seconds(theirs), seconds(ours)
        else:
            first, second = seconds(ours), seconds(theirs)
        times.append((first, second))
    return PairedTimes(
        median(first for first, _ in times),
        median(second for _, second in times),
        median(second / first for first, second in times),
    )
