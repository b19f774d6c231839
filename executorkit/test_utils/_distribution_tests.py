"""Tests of generators of random numbers against their distribution. ``generator(n)`` gives an array
(or NDArray) of n numbers."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ._compare import to_numpy

Generator = Callable[[int], Any]


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Returns ``nbuckets`` intervals of equal probability by the inverse distribution."""
    edges = [float(ppf(i / nbuckets)) for i in range(nbuckets + 1)]
    return list(pairwise(edges)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Returns True if the mean of a sample lies within three standard errors of ``mu``."""
    sample = to_numpy(generator(nsamples)).astype(np.float64)
    return bool(abs(sample.mean() - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Returns True if a normal sample's variance is within three standard errors of sigma**2."""
    sample = to_numpy(generator(nsamples)).astype(np.float64)
    error = np.sqrt(2.0 / (nsamples - 1)) * sigma**2
    return bool(abs(sample.var(ddof=1) - sigma**2) < 3 * error)


def chi_square_check(
    generator: Generator, buckets: Sequence[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Returns Pearson's p-value, observed and expected counts; ``buckets`` are intervals (low,
    high), or the values of a discrete distribution."""
    from scipy import stats

    sample = to_numpy(generator(nsamples)).reshape(-1)
    if isinstance(buckets[0], list | tuple):
        counts = [np.count_nonzero((low <= sample) & (sample < high)) for low, high in buckets]
    else:
        counts = [np.count_nonzero(sample == value) for value in buckets]
    observed = np.array(counts, np.int64)
    expected = np.asarray(probs, np.float64) * observed.sum()
    return float(stats.chisquare(observed, expected).pvalue), observed, expected


def verify_generator(
    generator: Generator,
    buckets: Sequence[object],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Returns the p-values of ``nrepeat`` chi-square tests, each of ``nsamples`` numbers of
    ``generator`` against the probabilities ``probs`` of ``buckets`` (:func:`chi_square_check`).
    AssertionError unless a share ``success_rate`` of them is above ``alpha``."""
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    passed = sum(p > alpha for p, _, _ in tests)
    if passed < nrepeat * success_rate:
        shown = "; ".join(f"p={p:.3g}, observed {o}, expected {e}" for p, o, e in tests)
        raise AssertionError(f"{passed} of {nrepeat} chi-square tests passed: {shown}")
    return [p for p, _, _ in tests]
