"""Convolutions as matrix products of patches."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._linear_algebra import product_dtype
from ._rules import Call, Kernel, rule
from ._shapes import padded

#: Maximum number of bytes of the patches that are laid out at once.
_PATCH_BYTES = 1 << 24


class _Geometry(NamedTuple):
    """A convolution without its layout: sizes of the kernel's window, steps, and padding.

    padding has (low, high, interior) of each spatial axis of the input.
    """

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int, int], ...]
    out: tuple[int, ...]
    groups: int
    batch_groups: int

    @property
    def is_product(self) -> bool:
        """True if every output pixel is a product of one input pixel."""
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
    product = _by_channels_last if channels_last else _by_channels_first
    # Order of the canonical axes: batch, channels, space for the input; output, input, space for
    # the kernel; batch, channels, space for the result.
    back = tuple(np.argsort(numbers.out_spec).tolist())
    depthwise = geometry.groups > 1 and geometry.groups == left.shape[numbers.lhs_spec[1]]
    if 0 in out or not left.size or not right.size:
        return lambda x, kernel: np.zeros(out, dtype)

    def convolve(x: Any, kernel: Any) -> Any:
        x = x.transpose(numbers.lhs_spec).astype(wide, copy=False)
        kernel = kernel.transpose(numbers.rhs_spec).astype(wide, copy=False)
        if geometry.batch_groups > 1:
            result = _by_parts(product, x, kernel, geometry, geometry.batch_groups, 0)
        elif depthwise:
            result = _depthwise(x, kernel, geometry)
        elif geometry.groups > 1:
            result = _by_parts(product, x, kernel, geometry, geometry.groups, 1)
        else:
            result = product(x, kernel, geometry)
        return result.astype(dtype, copy=False).transpose(back)

    return convolve


def _by_parts(conv: Kernel, x: Any, kernel: Any, geometry: _Geometry, count: int, axis: int) -> Any:
    """Each part of the input along an axis with its own part of the kernel's outputs."""
    pairs = zip(np.split(x, count, axis), np.split(kernel, count), strict=True)
    return np.concatenate([conv(part, weights, geometry) for part, weights in pairs], 1)


def _edged(x: Any, geometry: _Geometry) -> Any:
    """A padded input whose axes are in the order of its memory."""
    if all(edge == (0, 0, 0) for edge in geometry.padding):
        return np.ascontiguousarray(x)
    return padded(x, 0, ((0, 0, 0), (0, 0, 0), *geometry.padding))


def _edged_channels_last(x: Any, geometry: _Geometry) -> Any:
    """A padded input, its channels one after the other: patches are laid out by runs of them."""
    rank = len(geometry.out)
    x = np.ascontiguousarray(x.transpose(0, *range(2, 2 + rank), 1))
    if any(edge != (0, 0, 0) for edge in geometry.padding):
        x = padded(x, 0, ((0, 0, 0), *geometry.padding, (0, 0, 0)))
    return x.transpose(0, rank + 1, *range(1, rank + 1))


def _patches(x: Any, geometry: _Geometry) -> Any:
    """A view ``(batch, channels, *window, *out)`` of a padded input."""
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


def _chunks(batch: int, item_bytes: int) -> Sequence[slice]:
    """Slices of the batch whose patches fit into the bound."""
    step = max(1, _PATCH_BYTES // max(item_bytes, 1))
    return [slice(i, i + step) for i in range(0, batch, step)]


def _by_channels_first(x: Any, kernel: Any, geometry: _Geometry) -> Any:
    """Weights times patches: the result's pixels lie one after the other."""
    batch, outputs = x.shape[0], kernel.shape[0]
    weights = kernel.reshape(outputs, -1)
    pixels = math.prod(geometry.out)
    if geometry.is_product:
        result = np.matmul(weights, x.reshape(batch, -1, pixels))
        return result.reshape(batch, outputs, *geometry.out)
    view = _patches(_edged(x, geometry), geometry)
    result = np.empty((batch, outputs, pixels), x.dtype)
    for part in _chunks(batch, view[0].size * x.itemsize):
        np.matmul(weights, view[part].reshape(-1, weights.shape[1], pixels), result[part])
    return result.reshape(batch, outputs, *geometry.out)


def _by_channels_last(x: Any, kernel: Any, geometry: _Geometry) -> Any:
    """Patches times weights: the result's channels lie one after the other."""
    batch, outputs = x.shape[0], kernel.shape[0]
    rank = len(geometry.out)
    last = (*range(2, 2 + rank), 1)
    weights = _weight_columns(kernel, last)
    if geometry.is_product:
        result = np.matmul(x.transpose(0, *last).reshape(-1, weights.shape[0]), weights)
    else:
        view = _patches(_edged_channels_last(x, geometry), geometry)
        view = view.transpose(0, *range(2 + rank, 2 + 2 * rank), *last)
        pixels = math.prod(geometry.out)
        result = np.empty((batch * pixels, outputs), x.dtype)
        for part in _chunks(batch, view[0].size * x.itemsize):
            matrix = view[part].reshape(-1, weights.shape[0])
            first = part.start * pixels
            np.matmul(matrix, weights, result[first : first + len(matrix)])
    result = result.reshape(batch, *geometry.out, outputs)
    return result.transpose(0, rank + 1, *range(1, rank + 1))


def _weight_columns(kernel: Any, last: tuple[int, ...]) -> Any:
    """The kernel as a matrix with a column for each output, where possible without copying it."""
    outputs = kernel.shape[0]
    if kernel.strides[0] == kernel.itemsize:
        return kernel.transpose(*last, 0).reshape(-1, outputs)
    return kernel.transpose(0, *last).reshape(outputs, -1).T


def _depthwise(x: Any, kernel: Any, geometry: _Geometry) -> Any:
    """Each channel with its own kernels: shifted inputs, scaled and added."""
    batch, channels = x.shape[:2]
    multiplier = kernel.shape[0] // channels
    rank = len(geometry.out)
    last = x.strides[1] == x.itemsize
    view = _patches((_edged_channels_last if last else _edged)(x, geometry), geometry)
    weights = kernel.reshape(channels, multiplier, *geometry.window)
    ones = (1,) * rank
    order = (0, *range(2, 2 + rank), 1) if last else tuple(range(2 + rank))
    back = (0, rank + 1, *range(1, rank + 1)) if last else tuple(range(2 + rank))
    outputs = []
    for m in range(multiplier):
        total: Any = None
        for place in np.ndindex(*geometry.window):
            scale = weights[(slice(None), m, *place)].reshape(1, channels, *ones)
            term = view[(slice(None), slice(None), *place)].transpose(order)
            term = np.multiply(term, scale.transpose(order), order="C")
            total = term if total is None else np.add(total, term, total)
        outputs.append(total.transpose(back))
    if multiplier == 1:
        return outputs[0]
    return np.stack(outputs, 2).reshape(batch, channels * multiplier, *geometry.out)
