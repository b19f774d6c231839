"""Depth-wise convolution, one filter per channel, as sums of shifted products.

data (N, C, spatial...), weight (C, 1, kernel...), result (N, C, spatial...), or channels last: data
and result (N, spatial..., C), weight (C, kernel..., 1). XLA compiles such a sum to one loop, on
CPUs much faster than its grouped convolution.
"""

import itertools
import math
from collections.abc import Iterator
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...._support.annotations import Raw
from ...schema.attrs import Shape
from ...tracing import varying_as
from .composite_primitives import composite_primitive
from .conv_dims import ConvDims

#: Maximum number of terms of a sum that is written out.
_MAX_TERMS = 49


def padded(data: Array, dims: ConvDims) -> Array:
    if not any(dims.pads):
        return data
    edges = dims.per_axis((0, 0, 0), (0, 0, 0), [(x, x, 0) for x in dims.pads])
    return lax.pad(data, np.zeros((), data.dtype), edges)


def shifted_patches(data: Array, kernel: Shape, out: Shape, dims: ConvDims) -> Iterator[Array]:
    """Returns for each element of the kernel its factors in the padded data, of sizes ``out``."""
    n, channels = data.shape[0], data.shape[dims.layout.index("C")]
    data = padded(data, dims)
    for element in itertools.product(*map(range, kernel)):
        first = [e * d for e, d in zip(element, dims.dilation, strict=True)]
        last = [f + (o - 1) * s + 1 for f, o, s in zip(first, out, dims.strides, strict=True)]
        start, stop = dims.per_axis(0, 0, first), dims.per_axis(n, channels, last)
        yield lax.slice(data, start, stop, dims.per_axis(1, 1, dims.strides))


def _materialized_transpose(weight: Array) -> Array:
    # XLA's loop fusions take in transpositions and copies, and then fetch the entries one by one
    # where a vector of channels is needed: three times the time of the sums of products. They do
    # not take in sums.
    shape = (2, *weight.shape[::-1])
    keep_first = lax.broadcast_in_dim(np.array([True, False]), shape, (0,))
    twice = lax.broadcast_in_dim(weight.T, shape, (1, 2))
    return lax.reduce_sum(lax.select(keep_first, twice, lax.full_like(twice, 0)), (0,))


def _sum_of_products(
    data: Array,
    factors: Array,
    *,
    window: Shape,
    strides: Shape,
    dilation: Shape,
    out: Shape,
    channels: int,
) -> Array:
    letters = "DHW"[3 - len(window) :]
    layout = f"NC{letters}" if channels == 1 else f"N{letters}C"
    dims = ConvDims(strides, (0,) * len(window), dilation, 1, layout)
    terms = []
    for k, part in enumerate(shifted_patches(data, window, out, dims)):
        factor = lax.index_in_dim(factors, k, keepdims=False)
        terms.append(lax.mul(part, lax.broadcast_in_dim(factor, part.shape, (channels,))))
    return reduce(lax.add, terms)


def _product_aval(data: Raw, factors: object, *, out: Shape, channels: int, **_: object) -> Any:
    sizes = iter(out)
    kept = (0, channels)
    shape = tuple(n if i in kept else next(sizes) for i, n in enumerate(data.shape))
    return data.update(shape=shape, weak_type=False)


#: The depth-wise convolution of padded data with factors (elements of the kernel, C), each
#: result the sum of the products of its window.
shifted_products_p = composite_primitive(
    "executorkit_shifted_products", _sum_of_products, _product_aval
)


def _weight_grad_by_row(data: Array, g: Array, kernel: Shape, dims: ConvDims) -> Array:
    # A loop over the rows of ``g`` that adds up products row by row takes 2.7 ms for 32 channels of
    # four images of 112 x 112 pixels; one sum for each of nine elements takes 35 ms. Columns and
    # channels of a row are one axis where possible: with loops over 32 channels it takes 7.9 ms.
    row_stride, *strides = dims.strides
    row_dilation, *dilation = dims.dilation
    data = jnp.pad(data, [(0, 0), *((x, x) for x in dims.pads), (0, 0)])
    n, rows, *out, channels = g.shape
    joined = bool(strides) and strides[-1] == 1
    channel_axis = () if joined else (channels,)
    if joined:
        dilation[-1] *= channels
        out[-1] *= channels

    def join_channels(x: Array) -> Array:
        # Inside the loop: outside it would be part of the computation of x, and slow that down.
        return x.reshape(*x.shape[:-2], -1) if joined else x

    def add_row(index: Array, sums: list[Array]) -> list[Array]:
        g_row = lax.dynamic_index_in_dim(join_channels(g), index, 1, keepdims=False)
        previous = iter(sums)
        new_sums = []
        for down in range(kernel[0]):
            row = index * row_stride + down * row_dilation
            data_row = lax.dynamic_index_in_dim(join_channels(data), row, 1, keepdims=False)
            for along in itertools.product(*map(range, kernel[1:])):
                first = [a * d for a, d in zip(along, dilation, strict=True)]
                last = [f + (o - 1) * s + 1 for f, o, s in zip(first, out, strides, strict=True)]
                start = (0, *first, *(0 for _ in channel_axis))
                stop = (n, *last, *channel_axis)
                part = lax.slice(data_row, start, stop, (1, *strides, *(1 for _ in channel_axis)))
                new_sums.append(next(previous) + part * g_row)
        return new_sums

    zero = varying_as(jnp.zeros((n, *out, *channel_axis), g.dtype), data, g)
    sums = lax.fori_loop(0, rows, add_row, [zero] * math.prod(kernel))
    return jnp.stack([jnp.sum(x.reshape(-1, channels), 0) for x in sums], axis=-1)


def depthwise_kernels(
    data: Shape, weight: Shape, dims: ConvDims, prepared: bool
) -> tuple[Any, Any, Any]:
    kernel = dims.spatial(weight)
    out = dims.output_sizes(dims.spatial(data), kernel)
    dense = max(dims.dilation) == 1
    # Number of kernel elements that a position of the data meets, along each axis.
    blocks = [-(-k // s) for k, s in zip(kernel, dims.strides, strict=True)]

    def forward(data: Array, weight: Array) -> Array:
        flat = weight.reshape(weight.shape[0], -1)
        factors = _materialized_transpose(flat) if dims.channels_last else flat.T
        data = padded(data, dims)
        if prepared:
            # Otherwise XLA reads the terms without padding from the data before it was padded, and
            # computes the activation again.
            data = lax.optimization_barrier(data)
        return shifted_products_p.bind(
            varying_as(data, factors),
            varying_as(factors, data),
            window=kernel,
            strides=dims.strides,
            dilation=dims.dilation,
            out=out,
            channels=dims.layout.index("C"),
        )

    def weight_grad(data: Array, g: Array, shape: Shape) -> Array:
        if dims.channels_last:
            return _weight_grad_by_row(data, g, kernel, dims).reshape(shape)
        axes = (0, *range(2, g.ndim))
        sums = [jnp.sum(x * g, axes) for x in shifted_patches(data, kernel, out, dims)]
        return jnp.stack(sums, axis=-1).reshape(shape)

    def input_grad(g: Array, weight: Array, shape: Shape) -> Array:
        # Each position of the data, as (block, offset in it), meets one element per block: the
        # zeros between the entries of a strided convolution's gradient cost nothing.
        rank, strides = len(kernel), dims.strides
        n, c = shape[0], shape[dims.layout.index("C")]
        padding = [(0, b * s - k) for k, b, s in zip(kernel, blocks, strides, strict=True)]
        split = [x for b, s in zip(blocks, strides, strict=True) for x in (b, s)]
        cells = jnp.pad(weight.reshape(-1, *kernel), [(0, 0), *padding])
        if dims.channels_last:
            cells = _materialized_transpose(cells.reshape(c, -1)).reshape(*split, c)
        else:
            cells = cells.reshape(c, *split)
        sizes = [o + b - 1 for o, b in zip(out, blocks, strict=True)]
        padded_g = jnp.pad(g, dims.per_axis((0, 0), (0, 0), [(b - 1, b - 1) for b in blocks]))
        # Axes of offsets within blocks: behind each spatial axis of data, before each of a cell.
        first = 1 if dims.channels_last else 2
        offset_axes = tuple(range(first + 1, first + 1 + 2 * rank, 2))
        block_axes = tuple(range(first - 1, first - 1 + 2 * rank, 2))

        def term(block: Shape) -> Array:
            begin = [b - 1 - i for i, b in zip(block, blocks, strict=True)]
            end = [x + size for x, size in zip(begin, sizes, strict=True)]
            start, stop = dims.per_axis(0, 0, begin), dims.per_axis(n, c, end)
            part = lax.expand_dims(lax.slice(padded_g, start, stop), offset_axes)
            index = tuple(x for i in block for x in (i, slice(None)))
            cell = cells[index if dims.channels_last else (slice(None), *index)]
            return part * lax.expand_dims(cell, block_axes)

        total = reduce(lax.add, (term(block) for block in itertools.product(*map(range, blocks))))
        covered = [size * s for size, s in zip(sizes, strides, strict=True)]
        total = total.reshape(dims.per_axis(n, c, covered))
        edges = [
            (-pad, size + pad - length, 0)
            for pad, size, length in zip(dims.pads, dims.spatial(shape), covered, strict=True)
        ]
        return lax.pad(total, jnp.zeros((), g.dtype), dims.per_axis((0, 0, 0), (0, 0, 0), edges))

    short = math.prod(kernel) <= _MAX_TERMS
    return (
        forward if short else None,
        input_grad if dense and math.prod(blocks) <= _MAX_TERMS else None,
        weight_grad if short else None,
    )
