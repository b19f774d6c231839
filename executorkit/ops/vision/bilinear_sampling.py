"""Images sampled at computed positions: weighted sums of pixels, and their gradients."""

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..tensor.reverse_rules import bilinear_tangent, linear_in_first, with_vjp


def weighted_rows(rows: Array, index: Array, weight: Array) -> Array:
    """Computes ``sum_k weight[r, b, k] * rows[index[r, b, k]]``: (R, B, D) of rows (M, D).

    index and weight are (R, B, K). R is a loop on the device, so that only a small array is
    gathered at once; the gradient of rows is accumulated in place. index must be in range.
    """

    return _weighted_rows(rows, index, weight)


def _weighted_sums(rows: Array, index: Array, weight: Array) -> Array:
    def weighted_sum(at: tuple[Array, Array]) -> Array:
        return jnp.einsum("bkd,bk->bd", rows[at[0]], at[1])

    return lax.map(weighted_sum, (index, weight))


def _keep(rows: Array, index: Array, weight: Array):
    return weighted_rows(rows, index, weight), (rows, index, weight)


def _tangent(residuals, tangents) -> Array:
    rows, index, weight = residuals
    return bilinear_tangent(lambda a, b: weighted_rows(a, index, b), (rows, weight), tangents[::2])


def _back(residuals, head: Array):
    rows, index, weight = residuals

    def accumulate(total: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
        index, weight, head = at
        share = jnp.einsum("bkd,bd->bk", rows[index], head)
        return total.at[index].add(weight[..., None] * head[:, None]), share

    total, shares = lax.scan(accumulate, jnp.zeros_like(rows), (index, weight, head))
    return total, None, shares


_weighted_rows = with_vjp(_weighted_sums, _keep, _back, _tangent)


def bilinear(y: Array, x: Array, height: int, width: int) -> tuple[Array, Array]:
    """Returns the four pixels around positions, and their weights: indices into ``height * width``,
    (..., 4) each. Pixels outside the image have weight 0. At a pixel, derivatives are one-sided, to
    the right and below."""
    top, left = (lax.stop_gradient(jnp.floor(v)) for v in (y, x))
    below, right = y - top, x - left
    index, weight = [], []
    for row, down in ((top, 1 - below), (top + 1, below)):
        for column, across in ((left, 1 - right), (left + 1, right)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index.append(jnp.where(inside, row * width + column, 0).astype(jnp.int32))
            weight.append(jnp.where(inside, down * across, 0))
    return jnp.stack(index, axis=-1), jnp.stack(weight, axis=-1)


def pooled_regions(data: Array, image: Array, down: Array, across: Array) -> Array:
    """Sums pixels weighted by the product of a row's and a column's weight.

    data (N, C, H, W); for each of R regions, ``image`` (R,) is an index into N, ``down`` (R, P, H)
    and ``across`` (R, Q, W) are the weights; returns (R, C, P, Q). Only data has a gradient.
    """
    count, channels, height, width = data.shape

    def pool(pixels: Array, y: Array, x: Array) -> Array:
        # One region of an image (H, W, C): (P, Q, C).
        # One large product for the rows, P small ones for the columns: on CPUs four times as fast.
        lines = (y @ pixels.reshape(height, -1)).reshape(len(y), width, -1)
        each = jnp.broadcast_to(x, (len(y), *x.shape))
        return lax.dot_general(each, lines, (((2,), (1,)), ((0,), (0,))))

    # ``backward`` reads only arguments and residuals, since it may run in a separate program.
    def pooling(images: Array, *regions: Array) -> Array:
        return lax.map(lambda at: pool(images[at[0]], *at[1:]), regions)

    def backward(regions: tuple[Array, ...], heads: Array) -> tuple[Array | None, ...]:
        def accumulate(total: Array, at: tuple[Array, ...]) -> tuple[Array, None]:
            image, y, x, head = at
            pixels = jax.ShapeDtypeStruct(total.shape[1:], total.dtype)
            (share,) = jax.linear_transpose(lambda pixels: pool(pixels, y, x), pixels)(head)
            return total.at[image].add(share), None

        empty = jnp.zeros((count, height, width, channels), data.dtype)
        return lax.scan(accumulate, empty, (*regions, heads))[0], None, None, None

    images = jnp.moveaxis(data, 1, 3)
    return jnp.moveaxis(linear_in_first(pooling, backward)(images, image, down, across), 3, 1)
