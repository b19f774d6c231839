"""Sums over devices, and two-bit quantisation of gradients."""

import operator
from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp

from ..arrays.values import fit
from ..context import Context
from ..jax_internals import in_x64
from ..ndarray import NDArray
from ..parallel import PerDevice, ReplicatedArray
from ..program import small_jit


def sum_over_devices(arrays: PerDevice, context: Context) -> jax.Array:
    if isinstance(arrays, ReplicatedArray):
        return _sum_parts(tuple(arrays.replicas.gather(arrays.value, context.device)), arrays.shape)
    return sum_on([a.value for a in arrays], context)


def sum_on(parts: Sequence[jax.Array], context: Context) -> jax.Array:
    moved = in_x64(jax.device_put)(list(parts), context.device)
    return _sum_parts(tuple(moved), parts[0].shape)


def sum_each(lists: Sequence[Sequence[jax.Array]], context: Context) -> list[jax.Array]:
    if len(lists) == 1:
        return [sum_on(lists[0], context)]
    moved = in_x64(jax.device_put)([list(parts) for parts in lists], context.device)
    shapes = tuple(parts[0].shape for parts in lists)
    return list(_sum_lists(tuple(map(tuple, moved)), shapes))


@small_jit(static_argnums=1)
def _sum_lists(
    lists: tuple[tuple[jax.Array, ...], ...], shapes: tuple[tuple[int, ...], ...]
) -> tuple[jax.Array, ...]:
    return tuple(map(_sum, lists, shapes))


@small_jit(static_argnums=1)
def _sum_parts(parts: tuple[jax.Array, ...], shape: tuple[int, ...]) -> jax.Array:
    return _sum(parts, shape)


def _sum(parts: Sequence[jax.Array], shape: tuple[int, ...]) -> jax.Array:
    return reduce(operator.add, (p.reshape(shape).astype(parts[0].dtype) for p in parts))


def write_to_devices(array: NDArray, targets: PerDevice) -> None:
    if not isinstance(targets, ReplicatedArray):
        for target in targets:
            if target is not array:
                array.copyto(target)
        return
    replicas, dtype = targets.replicas, targets.dtype
    value = fit(array, targets.shape, dtype, replicas.home, "pull").value
    targets.assign(replicas.broadcast(value))


@small_jit
def quantize_two_bit(
    gradient: jax.Array, residual: jax.Array, threshold: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Rounds a gradient to -threshold, 0 or threshold; also returns the remainder for the next one.

    The result is threshold where residual + gradient >= threshold, -threshold where it is at most
    -threshold, else 0. F. Seide et al., "1-bit stochastic gradient descent", Interspeech 2014, with
    two bits.
    """
    total = residual + gradient
    level = threshold.astype(total.dtype)
    sent = jnp.where(total >= level, level, jnp.where(total <= -level, -level, 0))
    sent = sent.astype(total.dtype)
    return sent, total - sent
