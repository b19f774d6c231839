"""Orders and extremes along an axis, in forms that XLA's CPU code runs fast."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def _ranked(key: jax.Array) -> jax.Array:
    """Whole numbers of 32 bits in the order of numbers of up to 32 bits; NaN is the largest."""
    if not jnp.issubdtype(key.dtype, jnp.floating):
        return key.astype(jnp.int32)
    single = key.astype(jnp.float32)
    # One zero and one NaN: equal numbers are to be equal bits.
    single = jnp.where(jnp.isnan(single), jnp.nan, single + 0.0)
    bits = lax.bitcast_convert_type(single, jnp.int32)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


def descending(key: jax.Array) -> jax.Array:
    """Numbers whose ascending order is the descending one of ``key``, without overflow."""
    return ~key if jnp.issubdtype(key.dtype, jnp.integer) else -key


def order(data: jax.Array, axis: int, ascending: bool = True) -> jax.Array:
    """The indices (int32) that sort ``data`` along ``axis``; ties keep their order, NaN is last.

    What is sorted are pairs of a number and its index, packed into one integer where both fit: on
    CPUs that takes a fifth of the time of a sort with a comparison of floats.
    """
    key = lax.stop_gradient(data if ascending else descending(data))
    number = lax.broadcasted_iota(jnp.int32, key.shape, axis)
    if key.dtype.itemsize > 4 or key.dtype == jnp.uint32:
        return lax.sort((key, number), dimension=axis, num_keys=1)[1]
    with jax.enable_x64(True):
        packed = (_ranked(key).astype(jnp.int64) << 32) | number.astype(jnp.int64)
        return lax.sort(packed, dimension=axis, is_stable=False).astype(jnp.int32)


def place_of(extreme: jax.Array, data: jax.Array, axis: int) -> jax.Array:
    """Index (int32) of the first entry that equals ``extreme`` (size 1 along ``axis``), which is
    the maximum or minimum of data along it; of the first NaN, if that is NaN."""
    hit = data == extreme
    if jnp.issubdtype(data.dtype, jnp.floating):
        hit |= jnp.isnan(data)  # there is none unless the extreme is NaN
    number = lax.broadcasted_iota(jnp.int32, data.shape, axis)
    return jnp.min(jnp.where(hit, number, data.shape[axis]), axis=axis)


def argmax(data: jax.Array, axis: int) -> jax.Array:
    """``lax.argmax`` as int32: a maximum and a minimum, on CPUs a fifth of its time."""
    return place_of(jnp.max(data, axis=axis, keepdims=True), data, axis)


def argmin(data: jax.Array, axis: int) -> jax.Array:
    """``lax.argmin`` as int32."""
    return place_of(jnp.min(data, axis=axis, keepdims=True), data, axis)
