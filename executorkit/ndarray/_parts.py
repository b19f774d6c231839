"""Compiled copies of flat ranges of elements: what views of a larger array read and write."""

from __future__ import annotations

import math
from functools import partial

import jax
from jax import lax

Shape = tuple[int, ...]


def reshaped(value: jax.Array, shape: Shape) -> jax.Array:
    """``value`` in another shape of the same size, without work when it has it already."""
    if value.shape == shape:
        return value
    with jax.enable_x64(True):
        return _reshape(value, shape)


@partial(jax.jit, static_argnums=1)
def _reshape(value: jax.Array, shape: Shape) -> jax.Array:
    return lax.reshape(value, shape)


@partial(jax.jit, static_argnums=2)
def slice_flat(value: jax.Array, start: jax.Array, shape: Shape) -> jax.Array:
    """The elements of a flat range, in the given shape."""
    flat = lax.reshape(value, (value.size,))
    return lax.reshape(lax.dynamic_slice(flat, (start,), (math.prod(shape),)), shape)


def _update(base: jax.Array, part: jax.Array, start: jax.Array) -> jax.Array:
    flat = lax.reshape(base, (base.size,))
    flat = lax.dynamic_update_slice(flat, lax.reshape(part, (part.size,)), (start,))
    return lax.reshape(flat, base.shape)


#: One part at a time: a program for all parts at once would be compiled for each number of them.
update_flat = jax.jit(_update)
update_flat_donated = jax.jit(_update, donate_argnums=0)
