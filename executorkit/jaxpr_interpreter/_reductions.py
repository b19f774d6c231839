"""Reductions, running sums, sorting."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._support.annotations import DType, Jaxpr, Raw
from ._rules import Call, Kernel, in_float32, is_floating, is_small_float, rule

_ASSOCIATIVE = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
#: Ufuncs of the reducing primitives, and of the primitives that keep all partial results.
_REDUCTIONS = {f"reduce_{name}": ufunc for name, ufunc in _ASSOCIATIVE.items()}
_CUMULATIVE: dict[str, np.ufunc] = {
    **{f"cum{name}": _ASSOCIATIVE[name] for name in ("sum", "prod", "max", "min")},
    "cumlogsumexp": np.logaddexp,
}
#: Ufuncs of primitives that reduce two numbers, as the bodies of general reductions have them.
MONOIDS = _ASSOCIATIVE | {"add": np.add, "add_any": np.add, "mul": np.multiply}


def smallest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return np.False_
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def largest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return np.True_
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


@rule(*_REDUCTIONS, fresh=True, any_sizes=lambda call: True)
def _reduce(call: Call) -> Kernel:
    reduce = _REDUCTIONS[call.name].reduce
    axes, dtype = tuple(call.params["axes"]), call.dtype
    if not axes:
        return np.array
    if call.name in {"reduce_sum", "reduce_prod"}:
        wide = np.dtype(np.float32) if is_small_float(dtype) else dtype
        if wide == dtype and call.name == "reduce_sum":
            return _summed(axes, len(call.ins[0].shape), dtype)
        return lambda x: reduce(x.astype(wide, copy=False), axis=axes, dtype=wide).astype(dtype)
    if call.name not in {"reduce_max", "reduce_min"}:
        return lambda x: reduce(x, axis=axes)
    empty = smallest(dtype) if call.name == "reduce_max" else largest(dtype)
    return lambda x: (
        reduce(x, axis=axes) if x.size else np.full(np.delete(x.shape, axes), empty, dtype)
    )


# Not kept in plans: of ever-new sizes there are hundreds.
_ones = lru_cache(maxsize=16)(np.ones)


def _summed(axes: tuple[int, ...], rank: int, dtype: DType) -> Kernel:
    """Reduces leading axes of floats by matrix products: NumPy would add rows, and lose digits."""
    count, add = len(axes), np.add.reduce
    if axes != tuple(range(count)) or count == rank or dtype.kind != "f":
        return lambda x: add(x, axis=axes, dtype=dtype)

    def summed(x: np.ndarray) -> Raw:
        rows = math.prod(x.shape[:count])
        if rows <= 8:
            return add(x, axis=axes, dtype=dtype)
        ones = _ones(1 << rows.bit_length(), dtype)[:rows]
        return (ones @ x.reshape(rows, -1)).reshape(x.shape[count:])

    return summed


@rule("reduce")
def _general_reduce(call: Call) -> Kernel | None:
    monoid = monoid_of(call.params["jaxpr"])
    if monoid is None or len(call.ins) != 2:
        return None
    axes, dtype = tuple(call.params["dimensions"]), call.dtype
    if monoid in (np.add, np.multiply):
        return lambda x, start: [monoid(monoid.reduce(x, axis=axes, dtype=dtype), start)]
    return lambda x, start: [monoid.reduce(np.asarray(x), axis=axes, initial=np.asarray(start)[()])]


def monoid_of(jaxpr: Jaxpr) -> np.ufunc | None:
    if len(jaxpr.equations) != 1 or len(jaxpr.arguments) != 2:
        return None
    (equation,) = jaxpr.equations
    arguments, results = ([i for i, _ in values] for values in (jaxpr.arguments, jaxpr.results))
    if sorted(equation.inputs) != sorted(arguments) or list(equation.outputs) != results:
        return None
    return MONOIDS.get(equation.call.name)


@rule("argmax", "argmin", fresh=True, weight=2, any_sizes=lambda call: True)
def _arg_reduce(call: Call) -> Kernel | None:
    axes, dtype = call.params["axes"], call.params["index_dtype"]
    if len(axes) != 1:
        return None
    axis = axes[0]
    search = np.argmax if call.name == "argmax" else np.argmin
    small = is_small_float(call.ins[0].dtype)

    def locate(x: np.ndarray) -> np.ndarray:
        return search(x.astype(np.float32) if small else x, axis=axis).astype(dtype)

    return locate


@rule(*_CUMULATIVE, fresh=True, weight=20, any_sizes=lambda call: True)
def _cumulative(call: Call) -> Kernel:
    ufunc = _CUMULATIVE[call.name]
    axis, dtype = call.params["axis"], call.dtype
    wide = np.dtype(np.float32) if is_small_float(dtype) else dtype

    def forward(x: np.ndarray) -> np.ndarray:
        return ufunc.accumulate(x, axis=axis, dtype=wide)

    if not call.params["reverse"]:
        return in_float32(forward, call)
    flip = (slice(None),) * axis + (slice(None, None, -1),)
    return in_float32(lambda x: forward(x[flip])[flip], call)


@rule("sort", fresh=True, weight=250)
def _sort(call: Call) -> Kernel:
    axis, keys = call.params["dimension"], call.params["num_keys"]
    if len(call.ins) == 1:
        kind = None if call.dtype.kind in "iub" else "stable"
        dtype = call.dtype
        return lambda x: [np.sort(_comparable(x), axis=axis, kind=kind).astype(dtype, copy=False)]

    def sort(*operands: np.ndarray) -> list[np.ndarray]:
        if keys == 1:
            order = argsort(operands[0], axis)
        else:
            order = np.lexsort([_comparable(x) for x in operands[keys - 1 :: -1]], axis=axis)
        return [np.take_along_axis(x, order, axis) for x in operands]

    return sort


def _comparable(x: np.ndarray) -> Raw:
    return x.astype(np.float32) if is_floating(x.dtype) and x.dtype.kind != "f" else x


def argsort(x: np.ndarray, axis: int) -> np.ndarray:
    return np.argsort(_comparable(x), axis=axis, kind="stable")


@rule("top_k", fresh=True, weight=250)
def _top_k(call: Call) -> Kernel:
    count, dtype = call.params["k"], call.outs[1].dtype
    axis = call.params.get("axis", -1) % len(call.ins[0].shape)
    flip = (slice(None),) * axis + (slice(None, None, -1),)
    head = (slice(None),) * axis + (slice(None, count),)
    size = call.ins[0].shape[axis]

    def top(x: np.ndarray) -> tuple[np.ndarray, ...]:
        # Equal elements stay in order if both the array and the ascending order are turned around.
        order = (size - 1 - argsort(x[flip], axis))[flip][head]
        return np.take_along_axis(x, order, axis), order.astype(dtype)

    return top


#: Reductions of windows, by primitive: the ufunc, and the number that stands for no element.
WINDOWS: dict[str, tuple[np.ufunc, Callable[[np.dtype], Any]]] = {
    "reduce_window_sum": (np.add, lambda dtype: 0),
    "reduce_window_max": (np.maximum, smallest),
    "reduce_window_min": (np.minimum, largest),
}
