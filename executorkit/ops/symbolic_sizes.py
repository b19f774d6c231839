"""Decisions about sizes that may be symbolic dimensions, in a function traced for ``jax.export``.

A symbolic size stands for every size from 1 up. Comparing it with a number raises an exception
unless the answer is the same for all of them, so an operator that chooses an algorithm by a size
asks here, and says how it decides where the size is not known.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def is_known(*sizes: Any) -> bool:
    """True if every size is a number."""
    return all(isinstance(size, (int, np.integer)) for size in sizes)


def at_least(size: Any, minimum: Any, otherwise: bool = False) -> bool:
    """``size >= minimum``; ``otherwise`` where that is not the same for all values of a symbolic
    size."""
    try:
        return bool(size >= minimum)
    except jax.errors.InconclusiveDimensionOperation:
        return otherwise
