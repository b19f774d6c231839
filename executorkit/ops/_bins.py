"""Bins of regions of images, walked through pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


def round_away(x: jax.Array) -> jax.Array:
    """To the nearest integer, halves away from zero, as C's ``round``."""
    return jnp.trunc(x + jnp.where(x < 0, -0.5, 0.5).astype(x.dtype)).astype(jnp.int32)


def rounding(dtype: jnp.dtype) -> Callable[[jax.Array], jax.Array]:
    """Rounds double precision numbers to what ``dtype`` can hold."""
    kind = jnp.finfo(dtype)
    return lambda x: lax.reduce_precision(x, kind.nexp, kind.nmant)


class Bins(NamedTuple):
    """Which rows and columns of an image each of a grid of P x Q bins covers, ends left out.

    top and bottom are (..., P), left and right (..., Q), all int32 and within the image.
    """

    top: jax.Array
    bottom: jax.Array
    left: jax.Array
    right: jax.Array

    def area(self) -> jax.Array:
        """How many pixels each bin has: (..., P, Q)."""
        tall, wide = (jnp.maximum(b - a, 0) for a, b in (self[:2], self[2:]))
        return tall[..., :, None] * wide[..., None, :]

    def walk(self, width: int, visit: Callable[..., Any], start: Any) -> Any:
        """Runs ``state = visit(state, at, inside)`` for every place in the bins of one region.

        Each turn takes the next pixel of every bin, row by row: ``at`` (P, Q) is where it is in
        the H x ``width`` pixels of the image; a bin that has no more is not ``inside`` (P, Q). The
        work is that of the pixels in the bins (all as large as the largest), not of the image.
        """
        tall, wide = (jnp.max(b - a, initial=0) for a, b in (self[:2], self[2:]))

        def turn(number: jax.Array, state: Any) -> Any:
            row, column = self.top + number // wide, self.left + number % wide
            inside = (row < self.bottom)[:, None] & (column < self.right)
            at = jnp.where(inside, row[:, None] * width + column, 0)
            return visit(state, at, inside)

        return lax.fori_loop(jnp.int32(0), tall * wide, turn, start)


def support(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Where the entries of (..., size) that are not 0 begin and end."""
    counts, size = weights != 0, weights.shape[-1]
    at = jnp.arange(size, dtype=jnp.int32)
    first = jnp.min(jnp.where(counts, at, size), axis=-1)
    return first, jnp.max(jnp.where(counts, at + 1, 0), axis=-1)


def pooled_planes(
    data: jax.Array, image: jax.Array, bins: Bins, groups: int, *weights: jax.Array
) -> jax.Array:
    """Sums of the pixels in the bins of regions, every bin of channels of its own.

    data (N, D G G, H, W), G = ``groups``; ``image`` (R,) is each region's index into N, and
    ``bins`` are those of R regions; returns (R, D, P, Q), of which place (p, q) reads the channels
    (d, p G // P, q G // Q). ``weights``, if there are any, are factors of rows (R, P, H) and of
    columns (R, Q, W). Only data has a gradient.
    """
    count, channels, height, width = data.shape
    depth, size = channels // groups**2, height * width
    row, column = (
        jnp.arange(edge.shape[1], dtype=jnp.int32) * groups // edge.shape[1]
        for edge in (bins.top, bins.left)
    )
    # Where the pixels that each bin reads start, when D is behind all other axes.
    start = (image[:, None, None] * groups**2 + row[:, None] * groups + column) * size

    def weighted(
        value: jax.Array, at: jax.Array, inside: jax.Array, factors: Sequence[jax.Array]
    ) -> jax.Array:
        """``value`` (P, Q, D) at the pixels that are inside, times their factors."""
        if factors:
            y = jnp.take_along_axis(factors[0], at // width, axis=1)
            x = jnp.take_along_axis(factors[1].T, at % width, axis=0)
            # Computed once, not for each of the D channels.
            value = value * lax.optimization_barrier(y * x)[..., None]
        return jnp.where(inside[..., None], value, 0)

    # Everything that ``back`` reads is an argument or kept: it may run in a program of its own.
    @jax.custom_vjp
    def pooling(rows: jax.Array, *regions: Any) -> jax.Array:
        def pool(region: tuple[Any, ...]) -> jax.Array:
            start, bins, *factors = region

            def visit(total: jax.Array, at: jax.Array, inside: jax.Array) -> jax.Array:
                return total + weighted(rows[start + at], at, inside, factors)

            return bins.walk(width, visit, jnp.zeros((*start.shape, depth), rows.dtype))

        return lax.map(pool, regions)

    def back(regions: tuple[Any, ...], heads: jax.Array) -> tuple[jax.Array | None, ...]:
        def spread(total: jax.Array, region: tuple[Any, ...]) -> tuple[jax.Array, None]:
            start, bins, *factors, head = region

            def visit(total: jax.Array, at: jax.Array, inside: jax.Array) -> jax.Array:
                return total.at[start + at].add(weighted(head, at, inside, factors))

            return bins.walk(width, visit, total), None

        empty = jnp.zeros((count * groups**2 * size, depth), heads.dtype)
        total = lax.scan(spread, empty, (*regions, heads))[0]
        return total, *(None for _ in regions)

    pooling.defvjp(lambda rows, *regions: (pooling(rows, *regions), regions), back)
    rows = jnp.swapaxes(data.reshape(count, depth, -1), 1, 2).reshape(-1, depth)
    return jnp.moveaxis(pooling(rows, start, bins, *weights), 3, 1)
