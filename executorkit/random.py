"""``mx.random``: seeding, and the samplers of ``mx.nd.random``."""

from .arrays.random_state import get_state as get_state, seed as seed, set_state as set_state
from .ndarray.random import (
    exponential as exponential,
    gamma as gamma,
    generalized_negative_binomial as generalized_negative_binomial,
    multinomial as multinomial,
    negative_binomial as negative_binomial,
    normal as normal,
    poisson as poisson,
    randint as randint,
    randn as randn,
    shuffle as shuffle,
    uniform as uniform,
)
