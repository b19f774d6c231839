"""The few random numbers that a change of an image draws, from a key on either side.

``key`` is a JAX key, or its two words as integers, where images are in the host's memory: numbers
are the same to the last bit, but for the rounding of a normal distribution.
"""

from statistics import NormalDist
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._support.annotations import Raw, Tree
from ...jaxpr_interpreter import hash_words

#: The two words of a key in the host's memory.
Words = tuple[int, int]

_NORMAL = NormalDist()


def uniform(key: Raw, low: float, high: float) -> Tree:
    if isinstance(key, tuple):
        return _uniform(key, 0, low, high)
    return jax.random.uniform(key, (), jnp.float32, low, high)


def coin(key: Raw) -> Tree:
    return hash_words(key, 0)[0] < 1 << 31 if isinstance(key, tuple) else jax.random.bernoulli(key)


def normals(key: Raw, count: int) -> Tree:
    if not isinstance(key, tuple):
        return jax.random.normal(key, (count,), jnp.float32)
    above = np.nextafter(np.float32(-1), np.float32(0))
    parts = [(1 + float(_uniform(key, i, above, 1))) / 2 for i in range(count)]
    return np.array([_NORMAL.inv_cdf(part) for part in parts], np.float32)


def split(key: Raw, count: int) -> Tree:
    if isinstance(key, tuple):
        return [hash_words(key, i) for i in range(count)]
    return jax.random.split(key, count)


def order(key: Words, count: int) -> list[int]:
    """Returns the numbers below ``count`` in random order, as from ``jax.random.permutation``."""
    subkey = hash_words(key, 1)
    return sorted(range(count), key=lambda i: _bits(subkey, i))


def _bits(key: Words, number: int) -> int:
    first, second = hash_words(key, number)
    return first ^ second


def _uniform(key: Words, number: int, low: Any, high: Any) -> np.float32:
    # The draw with a number among several. Programs multiply and add in one instruction, as float64
    # does that here.
    low, high = np.float32(low), np.float32(high)
    unit = (_bits(key, number) >> 9) * 2.0**-23
    return max(low, np.float32(unit * float(high - low) + float(low)))
