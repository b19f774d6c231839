"""Hawkes processes: ragged lengths, no points at all, one mark."""

from __future__ import annotations

from ._case import Case, integers, uniform, values


def inputs(batch: int, kinds: int, steps: int, lengths: list[float]):
    return {
        "lda": uniform(batch, kinds, low=0.5, high=2.0),
        "alpha": uniform(kinds, low=0.1, high=0.5),
        "beta": uniform(kinds, low=0.5, high=2.0),
        "state": uniform(batch, kinds),
        "lags": uniform(batch, steps, low=0.1),
        "marks": integers(batch, steps, high=kinds, dtype="int32"),
        "valid_length": values(lengths),
        "max_time": uniform(batch, low=7.0, high=9.0),
    }


KEPT = ("lda", "alpha", "beta", "state")
CASES = [
    Case(
        "hawkesll",
        "_contrib_hawkesll",
        inputs(3, 2, 6, [6, 4, 1]),
        grad=KEPT,
        also=("float64",),
        rtol64=1e-7,
        why="MXNet computes exponentials and logarithms in float32",
    ),
    Case("hawkesll_none", "_contrib_hawkesll", inputs(2, 3, 4, [0, 4]), grad=KEPT),
    Case("hawkesll_one", "_contrib_hawkesll", inputs(1, 1, 1, [1]), grad=KEPT),
]
