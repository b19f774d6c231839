"""Bins of regions of images, and loops over their pixels."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Function, Operands, Tree
from ..tensor.reverse_rules import linear_in_first
from ..tracing import is_known


def round_away(x: Array) -> Array:
    return jnp.trunc(x + jnp.where(x < 0, -0.5, 0.5).astype(x.dtype)).astype(jnp.int32)


def rounding(dtype: jnp.dtype) -> Callable[[Array], Array]:
    kind = jnp.finfo(dtype)
    return lambda x: lax.reduce_precision(x, kind.nexp, kind.nmant)


class Bins(NamedTuple):
    """The rows and columns of an image that each of P x Q bins covers, ends excluded.

    top and bottom are (..., P), left and right (..., Q), all int32 and within the image.
    """

    top: Array
    bottom: Array
    left: Array
    right: Array

    def area(self) -> Array:
        tall, wide = (jnp.maximum(b - a, 0) for a, b in (self[:2], self[2:]))
        return tall[..., :, None] * wide[..., None, :]

    def walk(self, width: int, visit: Function, init: object) -> Any:
        """Runs ``state = visit(state, at, inside)`` for every pixel of the bins.

        Each iteration takes the next pixel of every bin, row by row: ``at`` (..., P, Q) is its
        index into the H x ``width`` pixels of the image; a finished bin is not ``inside`` (..., P,
        Q). The work grows with the pixels in the largest bin, not with the image.
        """
        tall, wide = (jnp.max(b - a, initial=0) for a, b in (self[:2], self[2:]))

        def visit_pixel(number: Array, state: object) -> Tree:
            row, column = self.top + number // wide, self.left + number % wide
            inside = (row < self.bottom)[..., None] & (column < self.right)[..., None, :]
            at = jnp.where(inside, row[..., None] * width + column[..., None, :], 0)
            return visit(state, at, inside)

        return lax.fori_loop(jnp.int32(0), tall * wide, visit_pixel, init)


#: Minimum number of elements per loop iteration, so that the iteration's own cost is small.
_MIN_BLOCK_SIZE = 8192


def to_blocks(regions: object, numbers: int) -> tuple[Any, int]:
    """Groups arrays of R regions into blocks (blocks, B, ...), padded with zeros; returns R too. B
    regions of ``numbers`` elements each make one iteration of a loop worth its cost."""
    count = jax.tree.leaves(regions)[0].shape[0]
    block = 1
    if is_known(count, numbers):
        block = max(1, min(count, _MIN_BLOCK_SIZE // max(numbers, 1)))
    spare = -count % block

    def divided(array: Array) -> Array:
        filled = jnp.pad(array, [(0, spare), *((0, 0),) * (array.ndim - 1)])
        return filled.reshape((count + spare) // block, block, *array.shape[1:])

    return jax.tree.map(divided, regions), count


def join_blocks(blocks: Array, count: int) -> Array:
    return blocks.reshape(blocks.shape[0] * blocks.shape[1], *blocks.shape[2:])[:count]


def support(weights: Array) -> tuple[Array, Array]:
    counts, size = weights != 0, weights.shape[-1]
    at = jnp.arange(size, dtype=jnp.int32)
    first = jnp.min(jnp.where(counts, at, size), axis=-1)
    return first, jnp.max(jnp.where(counts, at + 1, 0), axis=-1)


def pooled_planes(
    data: Array, image: Array, bins: Bins, groups: Sequence[int], *weights: Array
) -> Array:
    """Sums the pixels in the bins of regions, each bin reading its own channels.

    data (N, D G L, H, W), (G, L) = ``groups``; ``image`` (R,) is each region's index into N, and
    ``bins`` cover R regions; returns (R, D, P, Q), of which place (p, q) reads the channels (d, p G
    // P, q L // Q). ``weights`` are factors of rows (R, P, H) and of columns (R, Q, W). Only data
    has a gradient.
    """
    count, channels, height, width = data.shape
    planes = math.prod(groups)
    depth, size = channels // planes, height * width
    row, column = (
        jnp.arange(edge.shape[1], dtype=jnp.int32) * group // edge.shape[1]
        for edge, group in zip((bins.top, bins.left), groups, strict=True)
    )
    # First index of the pixels that each bin reads, with D as the last axis.
    start = (image[:, None, None] * planes + row[:, None] * groups[1] + column) * size

    def weighted(value: Array, at: Array, inside: Array, factors: Sequence[Array]) -> Array:
        # ``value`` (B, P, Q, D) at the pixels that are inside, times their factors.
        if factors:
            y = jnp.take_along_axis(factors[0], at // width, axis=2)
            x = jnp.take_along_axis(jnp.swapaxes(factors[1], 1, 2), at % width, axis=1)
            # The barrier makes XLA compute the product once, not for each of the D channels.
            value = value * lax.optimization_barrier(y * x)[..., None]
        return jnp.where(inside[..., None], value, 0)

    # ``backward`` reads only arguments and residuals, since it may run in a separate program.
    def pooling(rows: Array, *regions: object) -> Array:
        def pool(region: Operands) -> Array:
            start, bins, *factors = region

            def visit(total: Array, at: Array, inside: Array) -> Array:
                return total + weighted(rows[start + at], at, inside, factors)

            return bins.walk(width, visit, jnp.zeros((*start.shape, depth), rows.dtype))

        blocks, number = to_blocks(regions, math.prod(start.shape[1:]) * depth)
        return join_blocks(lax.map(pool, blocks), number)

    def backward(regions: tuple[object, ...], heads: Array) -> tuple[Array | None, ...]:
        def spread(total: Array, region: Operands) -> tuple[Array, None]:
            start, bins, *factors, head = region

            def visit(total: Array, at: Array, inside: Array) -> Array:
                return total.at[start + at].add(weighted(head, at, inside, factors))

            return bins.walk(width, visit, total), None

        empty = jnp.zeros((count * planes * size, depth), heads.dtype)
        blocks, _ = to_blocks((*regions, heads), math.prod(heads.shape[1:]))
        total = lax.scan(spread, empty, blocks)[0]
        return total, *(None for _ in regions)

    rows = jnp.swapaxes(data.reshape(count, depth, -1), 1, 2).reshape(-1, depth)
    return jnp.moveaxis(linear_in_first(pooling, backward)(rows, start, bins, *weights), 3, 1)
