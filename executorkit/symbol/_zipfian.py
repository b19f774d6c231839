"""``mx.sym.contrib.rand_zipfian``: a small graph of other operators."""

from __future__ import annotations

import math

from . import op
from ._symbol import Symbol
from .random import uniform


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn from a distribution that falls off like Zipf's.

    P(c) = log((c + 2) / (c + 1)) / log(range_max + 1). true_classes has any shape. Returns
    ``num_sampled`` classes (num_sampled,), int64, and how often the true classes, and the drawn
    ones, are expected among them (float64, in the shapes of both).
    """
    total = math.log(range_max + 1)
    draws = uniform(0, total, shape=(num_sampled,), dtype="float64")
    sampled = op.cast(op.exp(draws) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        c = op.cast(classes, dtype="float64")
        return op.log((c + 2) / (c + 1)) * (num_sampled / total)

    return sampled, expected(true_classes), expected(sampled)
