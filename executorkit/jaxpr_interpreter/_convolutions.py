"""Convolutions: matrix products of patches, and for each channel by itself sums over windows."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from .._support.annotations import Raw
from ._helper_threads import THREADS, parts, run_all
from ._linear_algebra import divided_product, product_dtype
from ._rules import Call, Kernel, in_float32, rule
from ._shapes import padded

#: Maximum number of bytes of the patches that are laid out at once, so that they stay in a cache.
_PATCH_BYTES = 1 << 20
#: Time of a product that ``np.einsum`` adds up, relative to a product in a matrix product.
_SUM_COST = 8
#: Number of multiplications that take as long as NumPy's calls for one convolution.
_CALL_MULTIPLICATIONS = 1 << 20
#: Number of sums that the products of a large window are divided into, and terms of a product.
_SUMS, _LEAST_TERMS = 4, 64


class _Geometry(NamedTuple):
    """Kernel window, strides and dilations; padding is (low, high, interior) of each axis."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int, int], ...]
    out: tuple[int, ...]
    groups: int
    batch_groups: int

    @property
    def is_product(self) -> bool:
        return (
            set(self.window) <= {1}
            and set(self.strides) <= {1}
            and all(edge == (0, 0, 0) for edge in self.padding)
        )


@rule("conv_general_dilated", fresh=True)
def _conv_general_dilated(call: Call) -> Kernel | None:
    params, dtype = call.params, call.dtype
    numbers = params["dimension_numbers"]
    left, right, out = call.ins[0], call.ins[1], call.shape
    if dtype.kind == "c":
        return None
    geometry = _Geometry(
        tuple(right.shape[i] for i in numbers.rhs_spec[2:]),
        tuple(params["window_strides"]),
        tuple(params["rhs_dilation"]),
        tuple(
            (low, high, step - 1)
            for (low, high), step in zip(params["padding"], params["lhs_dilation"], strict=True)
        ),
        out=tuple(out[i] for i in numbers.out_spec[2:]),
        groups=params["feature_group_count"],
        batch_groups=params["batch_group_count"],
    )
    terms = math.prod(right.shape[i] for i in numbers.rhs_spec[1:])
    wide = product_dtype(left.dtype, right.dtype, dtype, terms)
    channels_last = numbers.lhs_spec[1] == len(out) - 1 and geometry.groups == 1
    # Order of the canonical axes: batch, channels, space for the input; output, input, space for
    # the kernel; batch, channels, space for the result.
    back = tuple(np.argsort(numbers.out_spec).tolist())
    depthwise = geometry.groups > 1 and geometry.groups == left.shape[numbers.lhs_spec[1]]
    if 0 in out or not left.size or not right.size:
        return lambda x, kernel: np.zeros(out, dtype)
    by_window = math.prod(geometry.window) > math.prod(geometry.out)
    # Elements of the input that follow each other in patches of either order.
    by_pixels = math.prod(geometry.out[-1:]) if geometry.strides[-1:] == (1,) else 1
    by_channels = math.prod(geometry.window[-1:]) * left.shape[numbers.lhs_spec[1]]

    def product(x: np.ndarray, kernel: object, geometry: _Geometry) -> np.ndarray:
        if channels_last and not (x.flags.c_contiguous and by_channels < by_pixels):
            return _by_channels_last(x, kernel, geometry)
        return (_by_window if by_window else _by_channels_first)(x, kernel, geometry)

    def grouped(x: np.ndarray, kernel: Raw, geometry: _Geometry) -> Raw:
        if geometry.batch_groups > 1:
            return _by_parts(product, x, kernel, geometry, geometry.batch_groups, 0)
        if depthwise:
            return _depthwise(x, kernel, geometry)
        if geometry.groups > 1:
            return _by_parts(product, x, kernel, geometry, geometry.groups, 1)
        return product(x, kernel, geometry)

    sizes = [left.shape[i] for i in numbers.lhs_spec[2:]]
    conv = _by_phases(grouped, geometry, sizes, call.outs[0].size * terms) or grouped

    def convolve(x: np.ndarray, kernel: Raw) -> np.ndarray:
        x = x.transpose(numbers.lhs_spec).astype(wide, copy=False)
        kernel = kernel.transpose(numbers.rhs_spec).astype(wide, copy=False)
        return conv(x, kernel, geometry).astype(dtype, copy=False).transpose(back)

    return convolve


def _by_parts(conv: Kernel, x: Raw, kernel: Raw, geometry: _Geometry, count: int, axis: int) -> Raw:
    pairs = zip(np.split(x, count, axis), np.split(kernel, count), strict=True)
    return np.concatenate([conv(part, weights, geometry) for part, weights in pairs], 1)


def _by_phases(
    conv: Kernel, geometry: _Geometry, sizes: Sequence[int], multiplications: int
) -> Kernel | None:
    """Returns the convolution of an input with zeros in between without products by these: results
    whose places differ by as much as the elements' share a part of the kernel. None where there are
    none, or too few."""
    steps = [interior + 1 for _, _, interior in geometry.padding]
    count = math.prod(steps)
    plain = all(step == 1 for step in (*geometry.strides, *geometry.dilation))
    if count == 1 or not plain or multiplications < _CALL_MULTIPLICATIONS * count:
        return None
    lows = [low for low, _, _ in geometry.padding]
    phases = []
    for places in itertools.product(*map(range, steps)):
        firsts = [(low - i) % step for low, i, step in zip(lows, places, steps, strict=True)]
        of_kernel = tuple(map(slice, firsts, itertools.repeat(None), steps))
        of_result = tuple(map(slice, places, itertools.repeat(None), steps))
        window, out = (
            tuple([len(range(n)[part]) for n, part in zip(lengths, index, strict=True)])
            for lengths, index in ((geometry.window, of_kernel), (geometry.out, of_result))
        )
        edges = []
        for i, low, first, step, taps, n, size in zip(
            places, lows, firsts, steps, window, out, sizes, strict=True
        ):
            before = (low - i - first) // step
            edges.append((before, n + taps - 1 - size - before, 0))
        if 0 not in out:
            part = geometry._replace(window=window, padding=tuple(edges), out=out)
            phases.append((part, (..., *of_kernel), (slice(None), slice(None), *of_result)))
    rank = len(steps)

    def convolve(x: np.ndarray, kernel: Raw, _: _Geometry) -> Raw:
        batch, outputs = x.shape[0] // geometry.batch_groups, kernel.shape[0]
        result = np.empty((batch, *geometry.out, outputs), x.dtype)
        result = result.transpose(0, rank + 1, *range(1, rank + 1))
        for part, of_kernel, of_result in phases:
            result[of_result] = 0 if 0 in part.window else conv(x, kernel[of_kernel], part)
        return result

    return convolve


def _edged(x: np.ndarray, geometry: _Geometry) -> Raw:
    if all(edge == (0, 0, 0) for edge in geometry.padding):
        return np.ascontiguousarray(x)
    return padded(x, 0, ((0, 0, 0), (0, 0, 0), *geometry.padding))


def _edged_channels_last(x: np.ndarray, geometry: _Geometry) -> Raw:
    rank = len(geometry.out)
    x = np.ascontiguousarray(x.transpose(0, *range(2, 2 + rank), 1))
    if any(edge != (0, 0, 0) for edge in geometry.padding):
        x = padded(x, 0, ((0, 0, 0), *geometry.padding, (0, 0, 0)))
    return x.transpose(0, rank + 1, *range(1, rank + 1))


def _patches(x: np.ndarray, geometry: _Geometry) -> Raw:
    steps = x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *geometry.window, *geometry.out),
        (
            *x.strides[:2],
            *(a * b for a, b in zip(steps, geometry.dilation, strict=True)),
            *(a * b for a, b in zip(steps, geometry.strides, strict=True)),
        ),
        writeable=False,
    )


def _pieces(
    batch: int, rows: int, row_bytes: int, limit: int = _PATCH_BYTES
) -> list[tuple[slice, slice]]:
    count = max(1, limit // max(row_bytes, 1))
    if count >= rows:
        step = count // rows
        return [(slice(i, i + step), slice(None)) for i in range(0, batch, step)]
    starts = range(0, rows, count)
    return [(slice(i, i + 1), slice(k, k + count)) for i in range(batch) for k in starts]


def _by_channels_first(x: Raw, kernel: Raw, geometry: _Geometry) -> Raw:
    batch, outputs = x.shape[0], kernel.shape[0]
    weights = kernel.reshape(outputs, -1)
    pixels = math.prod(geometry.out)
    if geometry.is_product:
        result = np.matmul(weights, x.reshape(batch, -1, pixels))
        return result.reshape(batch, outputs, *geometry.out)
    view = _patches(_edged(x, geometry), geometry)
    result = np.empty((batch, outputs, pixels), x.dtype)
    rows = geometry.out[0]
    row = pixels // rows
    first = 2 + len(geometry.window)  # axis of the view

    def multiply(images: slice, part: slice) -> None:
        patches = view[(images, *(slice(None),) * (first - 1), part)]
        start, stop, _ = part.indices(rows)
        out = result[images, :, start * row : stop * row]
        np.matmul(weights, patches.reshape(len(patches), weights.shape[1], -1), out)

    pieces = _pieces(batch, rows, view[0].nbytes // rows)
    run_all([partial(multiply, *piece) for piece in pieces], view.size * outputs)
    return result.reshape(batch, outputs, *geometry.out)


def _by_channels_last(x: Raw, kernel: Raw, geometry: _Geometry) -> Raw:
    batch, outputs = x.shape[0], kernel.shape[0]
    rank = len(geometry.out)
    last = (*range(2, 2 + rank), 1)
    pixels = batch * math.prod(geometry.out)
    if not geometry.is_product and 2 * pixels <= outputs and kernel.flags.c_contiguous:
        # The weights as they are: to copy these takes longer than to copy few patches.
        view = _patches(_edged_channels_last(x, geometry), geometry)
        view = view.transpose(*range(1, 2 + rank), 0, *range(2 + rank, 2 + 2 * rank))
        result = divided_product(kernel.reshape(outputs, -1), view.reshape(-1, pixels))
        result = np.ascontiguousarray(result.T).reshape(batch, *geometry.out, outputs)
        return result.transpose(0, rank + 1, *range(1, rank + 1))
    weights = _weight_columns(kernel, last)
    if geometry.is_product:
        result = divided_product(x.transpose(0, *last).reshape(-1, weights.shape[0]), weights)
        result = result.reshape(batch, *geometry.out, outputs)
    else:
        view = _patches(_edged_channels_last(x, geometry), geometry)
        view = view.transpose(0, *range(2 + rank, 2 + 2 * rank), *last)
        result = np.empty((batch, *geometry.out, outputs), x.dtype)
        pieces = _pieces(batch, geometry.out[0], view[0, :1].size * x.itemsize)
        if len(pieces) == 1:
            matrix = view.reshape(-1, weights.shape[0])
            divided_product(matrix, weights, result.reshape(-1, outputs))
        else:

            def multiply(piece: tuple[slice, ...]) -> None:
                matrix = view[piece].reshape(-1, weights.shape[0])
                np.matmul(matrix, weights, result[piece].reshape(-1, outputs))

            run_all([partial(multiply, piece) for piece in pieces], view.size * outputs)
    return result.transpose(0, rank + 1, *range(1, rank + 1))


def _by_window(x: Raw, kernel: Raw, geometry: _Geometry) -> Raw:
    """Convolves with a window that is larger than the result, as gradients of weights do: adds up
    products of parts of the window."""
    batch, channels = x.shape[:2]
    outputs, window, out = kernel.shape[0], geometry.window, geometry.out
    batch_last, outputs_last = (y.strides[0] == y.itemsize for y in (x, kernel))
    if batch_last:
        x = _edged_channels_last(x.swapaxes(0, 1), geometry).swapaxes(0, 1)
    else:
        x = _edged(x, geometry)
    view = _patches(x, geometry)
    of_window = range(1, 2 + len(out))  # axes of the view, with the channels
    of_out = range(2 + len(out), view.ndim)
    terms = channels * math.prod(window)
    columns = view.size // terms

    def operands(part: tuple[slice, slice]) -> tuple[Raw, Raw]:
        patches, weights = view[:, *part], kernel[:, *part]
        if outputs_last:
            weights = weights.transpose(*of_window, 0).reshape(-1, outputs).T
        else:
            weights = weights.reshape(outputs, -1)
        if batch_last:
            return weights, patches.transpose(*of_window, *of_out, 0).reshape(-1, columns)
        return weights, patches.transpose(0, *of_out, *of_window).reshape(columns, -1).T

    column = columns * x.itemsize
    limit = max(_PATCH_BYTES, column * _LEAST_TERMS)
    pieces = _pieces(channels, window[0], column * math.prod(window[1:]), limit)
    sums: list[Raw] = [None] * min(_SUMS, len(pieces))

    def add_up(n: int) -> None:
        first, *others = pieces[n :: len(sums)]
        total = np.matmul(*operands(first))
        for part in others:
            np.add(total, np.matmul(*operands(part)), total)
        sums[n] = total

    if len(sums) == 1:
        total = divided_product(*operands(pieces[0]))
    else:
        run_all([partial(add_up, n) for n in range(len(sums))], outputs * view.size)
        total = sums[0]
        for other in sums[1:]:
            np.add(total, other, total)
    if batch_last:
        return np.moveaxis(total.reshape(outputs, *out, batch), -1, 0)
    return total.reshape(outputs, batch, *out).swapaxes(0, 1)


def _weight_columns(kernel: Raw, last: tuple[int, ...]) -> Raw:
    outputs = kernel.shape[0]
    if kernel.strides[0] == kernel.itemsize:
        return kernel.transpose(*last, 0).reshape(-1, outputs)
    return kernel.transpose(0, *last).reshape(outputs, -1).T


def _depthwise(x: np.ndarray, kernel: Raw, geometry: _Geometry) -> Raw:
    batch, channels = x.shape[:2]
    rank = len(geometry.out)
    last = x.strides[1] == x.itemsize
    if last:
        order, back = (0, *range(2, 2 + rank), 1), (0, rank + 1, *range(1, rank + 1))
        x = _edged_channels_last(x, geometry).transpose(order)
    else:
        back = tuple(range(2 + rank))
        x = _edged(x, geometry)
    # (channels, filters of each, elements of the kernel)
    weights = kernel.reshape(channels, -1, math.prod(geometry.window))
    outputs = [
        _sums_of_windows(x, weights[:, m].T, geometry, last).transpose(back)
        for m in range(weights.shape[1])
    ]
    if len(outputs) == 1:
        return outputs[0]
    return np.stack(outputs, 2).reshape(batch, -1, *geometry.out)


@rule("executorkit_shifted_products", fresh=True, weight=14)
def _shifted_products(call: Call) -> Kernel:
    params = call.params
    names = ("window", "strides", "dilation", "out")
    window, strides, dilation, out = (params[name] for name in names)
    geometry = _Geometry(window, strides, dilation, (), out, groups=1, batch_groups=1)
    last = params["channels"] > 1
    return in_float32(lambda x, factors: _sums_of_windows(x, factors, geometry, last), call)


def _sums_of_windows(x: object, factors: Raw, geometry: _Geometry, last: bool) -> Raw:
    """Returns the sum of the products of each window with the factors of its channel. x (N,
    spatial..., C) if the channels come last, (N, C, spatial...) otherwise; factors (elements of the
    window, C). ``np.einsum`` accumulates in a third of the time of arrays of products."""
    window, strides, out, rank = geometry.window, geometry.strides, geometry.out, len(geometry.out)
    x = np.ascontiguousarray(x)
    batch, channels = x.shape[0], factors.shape[1]
    steps = x.strides[1:-1] if last else x.strides[2:]
    pixels = [a * b for a, b in zip(steps, strides, strict=True)]
    places = [a * b for a, b in zip(steps, geometry.dilation, strict=True)]
    factors = factors.reshape(*window, channels)
    if last and strides[-1:] == (1,):  # columns and channels are one axis
        factors = np.repeat(factors[..., None, :], out[-1], -2).reshape(*window, -1)
        rows, row_steps, row = out[:-1], pixels[:-1], (out[-1] * channels,)
    elif last:
        rows, row_steps, row = out, pixels, (channels,)
    else:
        factors = np.moveaxis(factors, -1, 0)
        rows, row_steps, row = (channels, *out), [x.strides[1], *pixels], ()
    view = np.lib.stride_tricks.as_strided(
        x,
        (batch, *rows, *window, *row),
        (x.strides[0], *row_steps, *places, *(x.itemsize for _ in row)),
        writeable=False,
    )
    result = np.empty((batch, *rows, *row), x.dtype)
    axes = list(range(view.ndim))
    of_window = axes[1 + len(rows) : 1 + len(rows) + rank]
    of_factors = [*of_window, axes[-1]] if last else [1, *of_window]
    of_result = [i for i in axes if i not in of_window]
    divided = 0 if batch > 1 or not rows else 1

    def add_up(part: slice) -> None:
        index = (slice(None),) * divided + (part,)
        own = factors if last or not divided else factors[part]
        np.einsum(view[index], axes, own, of_factors, of_result, out=result[index])

    slices = parts(result.shape[divided], THREADS)
    run_all([partial(add_up, part) for part in slices], _SUM_COST * view.size)
    return result.reshape(batch, *out, channels) if last else result
