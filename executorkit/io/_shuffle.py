"""Random orders as C++'s ``std::shuffle`` with a Mersenne twister makes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def shuffle_in_place(values: list[Any], generator: np.random.RandomState) -> None:
    """Shuffles a list.

    Element i is exchanged with one of the elements up to i, whose index is a 32-bit draw divided by
    the interval's length; draws in the incomplete last interval are repeated.
    """
    limits = np.arange(2, len(values) + 1, dtype=np.uint64)
    intervals = np.uint64(2**32 - 1) // limits
    draws = generator.randint(0, 2**32, max(len(values) - 1, 0), np.uint32).astype(np.uint64)
    # Each discarded draw moves all later ones up by one.
    while (discarded := np.flatnonzero(draws // intervals >= limits)).size:
        replacement = generator.randint(0, 2**32, 1, np.uint32).astype(np.uint64)
        draws = np.concatenate([np.delete(draws, discarded[0]), replacement])
    for i, j in enumerate((draws // intervals).tolist(), start=1):
        values[i], values[j] = values[j], values[i]
