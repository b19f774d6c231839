"""Convolution with one filter per channel, as sums of shifted products: what CPUs run fast.

data (N, C, spatial...), weight (C, 1, kernel...), result (N, C, spatial...). XLA makes one loop of
such a sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ._attrs import Shape

#: The longest sum that is written out.
_TERMS = 49


def shifted(data: jax.Array, kernel: Shape, out: Shape, windows: Any) -> Iterator[jax.Array]:
    """The part of the padded data that each element of the kernel meets, (N, C, *out) each."""
    data = jnp.pad(data, [(0, 0), (0, 0), *((x, x) for x in windows.pads)])
    for at in itertools.product(*map(range, kernel)):
        first = [a * d for a, d in zip(at, windows.dilation, strict=True)]
        last = [f + (o - 1) * s + 1 for f, o, s in zip(first, out, windows.steps, strict=True)]
        start, stop = (0, 0, *first), (*data.shape[:2], *last)
        yield lax.slice(data, start, stop, (1, 1, *windows.steps))


def _scalars(weight: jax.Array, kernel: Shape) -> Iterator[jax.Array]:
    """The weight's entry per element of the kernel, (C, 1, ..., 1) each."""
    for at in itertools.product(*map(range, kernel)):
        yield weight[(slice(None), 0, *at)].reshape(-1, *(1 for _ in kernel))


def _out_sizes(data: Shape, weight: Shape, windows: Any) -> Shape:
    parts = zip(data[2:], weight[2:], windows.steps, windows.pads, windows.dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in parts)


def _total(terms: Iterator[jax.Array]) -> jax.Array:
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def forms(data: Shape, weight: Shape, windows: Any) -> tuple[Any, Any, Any]:
    """Forward, gradient of the data, gradient of the weight; None where XLA's form is kept."""
    kernel, out = weight[2:], _out_sizes(data, weight, windows)
    dense = max(windows.dilation) == 1
    # Elements of the kernel that a position of the data meets, along each axis.
    blocks = [-(-k // s) for k, s in zip(kernel, windows.steps, strict=True)]

    def forward(data: jax.Array, weight: jax.Array) -> jax.Array:
        parts = shifted(data, kernel, out, windows)
        scalars = _scalars(weight, kernel)
        return _total(x * w for x, w in zip(parts, scalars, strict=True))

    def to_weight(data: jax.Array, g: jax.Array, shape: Shape) -> jax.Array:
        axes = (0, *range(2, g.ndim))
        sums = [jnp.sum(x * g, axes) for x in shifted(data, kernel, out, windows)]
        return jnp.stack(sums, axis=-1).reshape(shape)

    def to_data(g: jax.Array, weight: jax.Array, shape: Shape) -> jax.Array:
        """Each position of the data, as (block, place in it), meets one element per block: no
        work is done for the zeros between the entries of a gradient of a strided convolution."""
        rank, steps = len(kernel), windows.steps
        padding = [(0, b * s - k) for k, b, s in zip(kernel, blocks, steps, strict=True)]
        split = [x for b, s in zip(blocks, steps, strict=True) for x in (b, s)]
        cells = jnp.pad(weight[:, 0], [(0, 0), *padding]).reshape(-1, *split)
        sizes = [o + b - 1 for o, b in zip(out, blocks, strict=True)]
        around = jnp.pad(g, [(0, 0), (0, 0), *((b - 1, b - 1) for b in blocks)])

        def term(at: Shape) -> jax.Array:
            start = [b - 1 - a for a, b in zip(at, blocks, strict=True)]
            stop = [x + n for x, n in zip(start, sizes, strict=True)]
            part = lax.slice(around, (0, 0, *start), (*g.shape[:2], *stop))
            part = lax.expand_dims(part, tuple(range(3, 3 + 2 * rank, 2)))
            cell = cells[(slice(None), *(x for a in at for x in (a, slice(None))))]
            return part * lax.expand_dims(cell, tuple(range(1, 1 + 2 * rank, 2)))

        whole = _total(term(at) for at in itertools.product(*map(range, blocks)))
        whole = whole.reshape(*g.shape[:2], *(n * s for n, s in zip(sizes, steps, strict=True)))
        edges = [
            (-p, n + p - have, 0)
            for p, n, have in zip(windows.pads, shape[2:], whole.shape[2:], strict=True)
        ]
        return lax.pad(whole, jnp.zeros((), g.dtype), [(0, 0, 0), (0, 0, 0), *edges])

    short = math.prod(kernel) <= _TERMS
    return (
        forward if short else None,
        to_data if dense and math.prod(blocks) <= _TERMS else None,
        to_weight if short else None,
    )
