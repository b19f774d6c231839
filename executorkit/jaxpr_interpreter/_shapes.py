"""Values rearranged: broadcast, reshaped, cut, joined, padded."""

from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from .._support.annotations import Raw
from ..jaxprs import is_symbolic
from ._rules import Call, Kernel, rule

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


rule("broadcast_in_dim", weight=0)(lambda call: partial(np.broadcast_to, shape=call.shape))


def _free_shape(call: Call) -> tuple[int, ...] | None:
    # NumPy can tell the only size that is an expression.
    shape = tuple([-1 if is_symbolic(n) else n for n in call.shape])
    tells = call.params["dimensions"] is None and shape.count(-1) < 2 and 0 not in shape
    return shape if tells else None


@rule("reshape", weight=0, any_sizes=lambda call: _free_shape(call) is not None)
def _reshape(call: Call) -> Kernel:
    shape, order = _free_shape(call) or call.shape, call.params["dimensions"]
    if order is not None:
        return lambda x: x.transpose(order).reshape(shape)
    return methodcaller("reshape", shape)


rule("squeeze", weight=0)(lambda call: methodcaller("reshape", call.shape))
rule("transpose", weight=0, any_sizes=lambda call: True)(
    lambda call: methodcaller("transpose", call.params["permutation"])
)
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


@rule("concatenate", "stack", fresh=True, any_sizes=lambda call: True)
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
def _iota(call: Call) -> Kernel:
    shape, dtype = call.shape, call.dtype
    return lambda: np.arange(shape[0]).astype(dtype).reshape(shape)


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
