"""Values rearranged: broadcast, reshaped, cut, joined, padded."""

import math
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from .._support.annotations import Raw
from ._rules import Call, Kernel, rule

#: Maximum number of elements of a broadcast number that is written out.
_WRITTEN_ELEMENTS = 2048
#: Minimum number of bytes of an array that is copied in strips, and elements of a strip.
_STRIP_FROM, _STRIP = 1 << 18, 16


def in_order(x: np.ndarray) -> np.ndarray:
    """Copies to C order in strips of the last axis: whole rows would take four times as long."""
    if x.nbytes < _STRIP_FROM or x.ndim < 2 or x.strides[-1] <= x.itemsize:
        return np.array(x, order="C")
    result = np.empty(x.shape, x.dtype)
    for start in range(0, x.shape[-1], _STRIP):
        strip = (..., slice(start, start + _STRIP))
        result[strip] = x[strip]
    return result


@rule("broadcast_in_dim", weight=0)
def _broadcast_in_dim(call: Call) -> Kernel | None:
    if len(call.ins) != 1:
        return None
    shape, dims, dtype = call.shape, call.params["broadcast_dimensions"], call.dtype
    source = call.ins[0].shape
    if list(dims) != sorted(dims):
        order = np.argsort(dims)
        return lambda x: np.broadcast_to(
            np.expand_dims(x.transpose(order), [i for i in range(len(shape)) if i not in dims]),
            shape,
        )
    if not source and math.prod(shape) <= _WRITTEN_ELEMENTS:
        return lambda x: np.full(shape, x, dtype)
    aligned = [1] * len(shape)
    for size, dim in zip(source, dims, strict=True):
        aligned[dim] = size
    aligned_shape = tuple(aligned)
    if aligned_shape == shape:
        return methodcaller("reshape", shape)
    if aligned_shape == source:
        return lambda x: np.broadcast_to(x, shape)
    return lambda x: np.broadcast_to(x.reshape(aligned_shape), shape)


@rule("reshape", weight=0)
def _reshape(call: Call) -> Kernel | None:
    if len(call.ins) > 1:
        return None
    shape, order = call.shape, call.params["dimensions"]
    if order is not None:
        return lambda x: x.transpose(order).reshape(shape)
    return methodcaller("reshape", shape)


rule("squeeze", weight=0)(lambda call: methodcaller("reshape", call.shape))
rule("transpose", weight=0)(lambda call: methodcaller("transpose", call.params["permutation"]))
rule("tile", fresh=True)(lambda call: partial(np.tile, reps=call.params["reps"]))


@rule("rev", weight=0)
def _rev(call: Call) -> Kernel:
    dims, axes = call.params["dimensions"], range(len(call.shape))
    return itemgetter(tuple(slice(None, None, -1 if i in dims else None) for i in axes))


@rule("slice", weight=0)
def _slice(call: Call) -> Kernel:
    params = call.params
    strides = params["strides"] or (1,) * len(call.shape)
    return itemgetter(tuple(map(slice, params["start_indices"], params["limit_indices"], strides)))


@rule("concatenate", "stack", fresh=True)
def _concatenate(call: Call) -> Kernel:
    join, key = (np.stack, "axis") if call.name == "stack" else (np.concatenate, "dimension")
    axis = call.params[key]
    return lambda *operands: join(operands, axis)


@rule("unstack", weight=0)
def _unstack(call: Call) -> Kernel:
    axis = call.params["axis"]
    return lambda x: tuple(np.moveaxis(x, axis, 0))


@rule("split", weight=0)
def _split(call: Call) -> Kernel:
    axis, stops, indices = call.params["axis"], 0, []
    for size in call.params["sizes"]:
        indices.append((slice(None),) * axis + (slice(stops, stops + size),))
        stops += size
    return lambda x: [x[index] for index in indices]


@rule("iota", fresh=True)
def _iota(call: Call) -> Kernel | None:
    if call.ins:
        return None
    shape, axis, dtype = call.shape, call.params["dimension"], call.dtype
    size = shape[axis]
    column = (size,) + (1,) * (len(shape) - axis - 1)

    def iota() -> np.ndarray:
        numbers = np.arange(size).astype(dtype)
        if len(shape) == 1:
            return numbers
        return np.broadcast_to(numbers.reshape(column), shape).copy()

    return iota


@rule("dim_as_value", fresh=True)
def _dim_as_value(call: Call) -> Kernel:
    size = np.array(call.params["dim"], call.dtype)
    return lambda: size.copy()


rule("empty", "empty2", fresh=True)(lambda call: partial(np.zeros, call.shape, call.dtype))


def padded(x: Raw, value: Raw, config: Any) -> Raw:
    """Pads by (low, high, interior) of each axis; negative edges cut elements off."""
    shape, target, source = [], [], []
    for size, (low, high, interior) in zip(x.shape, config, strict=True):
        step = interior + 1
        length = low + max(size + (size - 1) * interior, 0) + high
        shape.append(length)
        # The first and last element that stay.
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(size, (length - low + interior) // step) if high < 0 else size
        source.append(slice(first, max(last, first)))
        start = low + first * step
        target.append(slice(start, start + max(last - first, 0) * step, step))
    result = np.full(shape, value, x.dtype)
    result[tuple(target)] = x[tuple(source)]
    return result


rule("pad", fresh=True)(lambda call: partial(padded, config=call.params["padding_config"]))
