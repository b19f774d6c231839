"""``mx.random``: seeding, and the samplers of ``mx.nd.random``."""

from __future__ import annotations

from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from .ndarray.random_state import get_state, seed, set_state

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "get_state",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "set_state",
    "shuffle",
    "uniform",
]
