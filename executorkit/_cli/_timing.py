"""Times of two things that do the same, told as a ratio: a lone time says nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import jax


class PairedTimes(NamedTuple):
    """Median seconds of one thing and of another, and the median of their ratios, pair by pair."""

    ours: float
    theirs: float
    ratio: float


def seconds(function: Callable[[], Any]) -> float:
    """Seconds from the call until everything in its result is computed."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def time_in_pairs(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int) -> PairedTimes:
    """Runs both alternately, which one goes first alternating too: what else the machine does
    then hits both alike."""
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
        median(first / second for first, second in times),
    )
