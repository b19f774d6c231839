"""Convolution with one filter per channel, as sums of shifted products: what CPUs run fast.

data (N, C, spatial...), weight (C, 1, kernel...), result (N, C, spatial...), or channels last: data
and result (N, spatial..., C), weight (C, kernel..., 1). XLA makes one loop of such a sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...schema.attrs import Shape

#: The longest sum that is written out.
_TERMS = 49


def _inside(shape: Shape, windows: Any) -> Shape:
    """The spatial part of the shape of data or weight."""
    return shape[2:] if windows.layout[1] == "C" else shape[1:-1]


def _outside(first: Any, channels: Any, spatial: Sequence[Any], windows: Any) -> tuple[Any, ...]:
    """Something per axis, in the order of the axes."""
    return (first, channels, *spatial) if windows.layout[1] == "C" else (first, *spatial, channels)


def shifted_patches(
    data: jax.Array, kernel: Shape, out: Shape, windows: Any
) -> Iterator[jax.Array]:
    """The part of the padded data that each element of the kernel meets, of as many places as the
    result has each."""
    n, channels = data.shape[0], data.shape[windows.layout.index("C")]
    data = jnp.pad(data, _outside((0, 0), (0, 0), [(x, x) for x in windows.pads], windows))
    for at in itertools.product(*map(range, kernel)):
        first = [a * d for a, d in zip(at, windows.dilation, strict=True)]
        last = [f + (o - 1) * s + 1 for f, o, s in zip(first, out, windows.strides, strict=True)]
        start, stop = _outside(0, 0, first, windows), _outside(n, channels, last, windows)
        yield lax.slice(data, start, stop, _outside(1, 1, windows.strides, windows))


def _turned(weight: jax.Array) -> jax.Array:
    """(C, elements) as (elements, C), in an array of its own.

    XLA's loop fusions take in transpositions and copies; then they fetch the entries one by one
    where a vector of channels is needed, which took three times as long as the sums of products
    themselves. They do not take in sums.
    """
    alone = np.array([True, False])[:, None, None]
    return jnp.sum(jnp.where(alone, weight.T, jnp.zeros((), weight.dtype)), 0)


def _scalars(weight: jax.Array, windows: Any) -> Iterator[jax.Array]:
    """The weight's entry per channel for every element of the kernel, as (C, 1, ..., 1), or (C,)
    for channels-last data."""
    flat = weight.reshape(weight.shape[0], -1)
    if windows.layout[1] != "C":
        yield from _turned(flat)
    else:
        for k in range(flat.shape[1]):
            yield flat[:, k].reshape(-1, *(1,) * (weight.ndim - 2))


def as_unsigned(index: Any) -> jax.Array:
    """Of an index that is never below 0: XLA need not look whether it counts from the end."""
    return lax.convert_element_type(index, np.uint32)


def kernel_offset(number: Any, width: int, dilation: Sequence[int]) -> tuple[jax.Array, jax.Array]:
    """How far down and along an element of a kernel of two axes lies, by its number in a loop."""
    number = as_unsigned(number)
    down, along = lax.div(number, np.uint32(width)), lax.rem(number, np.uint32(width))
    return down * np.uint32(dilation[0]), along * np.uint32(dilation[1])


def conv_output_sizes(sizes: Shape, kernel: Shape, windows: Any) -> Shape:
    """The spatial sizes of a convolution's result."""
    parts = zip(sizes, kernel, windows.strides, windows.pads, windows.dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in parts)


def _total(terms: Iterator[jax.Array]) -> jax.Array:
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def _sums_by_row(data: jax.Array, g: jax.Array, kernel: Shape, windows: Any) -> jax.Array:
    """(C, elements of the kernel): sums over places of ``g`` and of what each element meets, for
    channels-last data.

    A loop over the rows of ``g`` that adds up products row by row takes 2.7 ms for 32 channels of
    four images of 112 x 112 pixels; one sum for each of nine elements takes 35 ms. Places and
    channels of a row are one axis where that can be: with loops over 32 channels it takes 7.9 ms.
    """
    row_step, *strides = windows.strides
    row_dilation, *dilation = windows.dilation
    data = jnp.pad(data, [(0, 0), *((x, x) for x in windows.pads), (0, 0)])
    n, rows, *out, channels = g.shape
    joined = bool(strides) and strides[-1] == 1
    ends = () if joined else (channels,)
    if joined:
        dilation[-1] *= channels
        out[-1] *= channels

    def lines(x: jax.Array) -> jax.Array:
        # Only here: outside of the loop it would be part of the computation of x, and slow it down.
        return x.reshape(*x.shape[:-2], -1) if joined else x

    def add_row(at: Any, sums: list[jax.Array]) -> list[jax.Array]:
        here = lax.dynamic_index_in_dim(lines(g), at, 1, keepdims=False)
        added = iter(sums)
        total = []
        for down in range(kernel[0]):
            row = at * row_step + down * row_dilation
            met = lax.dynamic_index_in_dim(lines(data), row, 1, keepdims=False)
            for along in itertools.product(*map(range, kernel[1:])):
                first = [a * d for a, d in zip(along, dilation, strict=True)]
                last = [f + (o - 1) * s + 1 for f, o, s in zip(first, out, strides, strict=True)]
                start, stop = (0, *first, *(0 for _ in ends)), (n, *last, *ends)
                part = lax.slice(met, start, stop, (1, *strides, *(1 for _ in ends)))
                total.append(next(added) + part * here)
        return total

    zero = jnp.zeros((n, *out, *ends), g.dtype)
    sums = lax.fori_loop(0, rows, add_row, [zero] * math.prod(kernel))
    return jnp.stack([jnp.sum(x.reshape(-1, channels), 0) for x in sums], axis=-1)


def depthwise_kernels(data: Shape, weight: Shape, windows: Any) -> tuple[Any, Any, Any]:
    """Forward, gradient of the data, gradient of the weight; None where XLA's form is kept."""
    kernel = _inside(weight, windows)
    out = conv_output_sizes(_inside(data, windows), kernel, windows)
    channels = windows.layout.index("C")
    dense = max(windows.dilation) == 1
    # Elements of the kernel that a position of the data meets, along each axis.
    blocks = [-(-k // s) for k, s in zip(kernel, windows.strides, strict=True)]

    def forward(data: jax.Array, weight: jax.Array) -> jax.Array:
        parts = shifted_patches(data, kernel, out, windows)
        scalars = _scalars(weight, windows)
        return _total(x * w for x, w in zip(parts, scalars, strict=True))

    def to_weight(data: jax.Array, g: jax.Array, shape: Shape) -> jax.Array:
        if channels > 1:
            return _sums_by_row(data, g, kernel, windows).reshape(shape)
        axes = (0, *range(2, g.ndim))
        sums = [jnp.sum(x * g, axes) for x in shifted_patches(data, kernel, out, windows)]
        return jnp.stack(sums, axis=-1).reshape(shape)

    def to_data(g: jax.Array, weight: jax.Array, shape: Shape) -> jax.Array:
        """Each position of the data, as (block, place in it), meets one element per block: no
        work is done for the zeros between the entries of a gradient of a strided convolution."""
        rank, strides = len(kernel), windows.strides
        n, c = shape[0], shape[channels]
        padding = [(0, b * s - k) for k, b, s in zip(kernel, blocks, strides, strict=True)]
        split = [x for b, s in zip(blocks, strides, strict=True) for x in (b, s)]
        cells = jnp.pad(weight.reshape(-1, *kernel), [(0, 0), *padding])
        if channels > 1:
            cells = _turned(cells.reshape(c, -1)).reshape(*split, c)
        else:
            cells = cells.reshape(c, *split)
        sizes = [o + b - 1 for o, b in zip(out, blocks, strict=True)]
        around = jnp.pad(g, _outside((0, 0), (0, 0), [(b - 1, b - 1) for b in blocks], windows))
        # Axes of places within blocks: behind each spatial axis of data, before each of a cell.
        first = 1 if channels > 1 else 2
        within = tuple(range(first + 1, first + 1 + 2 * rank, 2))
        before = tuple(range(first - 1, first - 1 + 2 * rank, 2))

        def term(at: Shape) -> jax.Array:
            start = [b - 1 - a for a, b in zip(at, blocks, strict=True)]
            stop = [x + size for x, size in zip(start, sizes, strict=True)]
            start, stop = _outside(0, 0, start, windows), _outside(n, c, stop, windows)
            part = lax.expand_dims(lax.slice(around, start, stop), within)
            places = tuple(x for a in at for x in (a, slice(None)))
            cell = cells[places if channels > 1 else (slice(None), *places)]
            return part * lax.expand_dims(cell, before)

        whole = _total(term(at) for at in itertools.product(*map(range, blocks)))
        full = [size * s for size, s in zip(sizes, strides, strict=True)]
        whole = whole.reshape(_outside(n, c, full, windows))
        edges = [
            (-p, size + p - have, 0)
            for p, size, have in zip(windows.pads, _inside(shape, windows), full, strict=True)
        ]
        return lax.pad(
            whole, jnp.zeros((), g.dtype), _outside((0, 0, 0), (0, 0, 0), edges, windows)
        )

    short = math.prod(kernel) <= _TERMS
    return (
        forward if short else None,
        to_data if dense and math.prod(blocks) <= _TERMS else None,
        to_weight if short else None,
    )
