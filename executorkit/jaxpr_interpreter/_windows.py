"""Pooling: reductions of windows, and their gradients."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.annotations import Raw
from ._reductions import WINDOWS, monoid_of
from ._rules import Call, Kernel, in_float32, is_small_float, rule
from ._shapes import padded

#: Maximum length of a window whose elements are passed over one by one.
_SLICES_LIMIT = 24


def _along(rank: int, axis: int, index: object) -> tuple[Any, ...]:
    return (slice(None),) * axis + (index,) + (slice(None),) * (rank - axis - 1)


def _reduced_windows(x: Raw, ufunc: Any, params: Any) -> Raw:
    names = ("window_dimensions", "window_strides", "window_dilation")
    for axis, (size, stride, gap) in enumerate(zip(*(params[name] for name in names), strict=True)):
        if size == 1 and stride == 1:
            continue
        count = (x.shape[axis] - (size - 1) * gap - 1) // stride + 1
        if size == x.shape[axis] and count == 1:
            x = ufunc.reduce(x, axis=axis, keepdims=True, dtype=x.dtype)
            continue
        if size > _SLICES_LIMIT:
            views = np.lib.stride_tricks.sliding_window_view(x, (size - 1) * gap + 1, axis)
            views = views[_along(views.ndim, axis, slice(None, None, stride))][..., ::gap]
            x = ufunc.reduce(views, axis=-1, dtype=x.dtype)
            continue
        stop = (count - 1) * stride + 1
        result = x[_along(x.ndim, axis, slice(0, stop, stride))]
        for i in range(1, size):
            piece = x[_along(x.ndim, axis, slice(i * gap, i * gap + stop, stride))]
            result = ufunc(result, piece) if i == 1 else ufunc(result, piece, out=result)
        x = result
    return x


def _base_config(params: Any) -> list[tuple[int, int, int]]:
    return [
        (low, high, dilation - 1)
        for (low, high), dilation in zip(params["padding"], params["base_dilation"], strict=True)
    ]


@rule(*WINDOWS, fresh=True, weight=12)
def _reduce_window(call: Call) -> Kernel:
    ufunc, neutral_of = WINDOWS[call.name]
    params, neutral = call.params, neutral_of(call.dtype)
    config = _base_config(params)
    pads = any(edge != (0, 0, 0) for edge in config)
    if 0 in call.shape:
        return lambda x: np.zeros(call.shape, call.dtype)

    def reduce(x: np.ndarray) -> np.ndarray:
        result = _reduced_windows(padded(x, neutral, config) if pads else x, ufunc, params)
        return result if result.base is None and result is not x else np.array(result)

    return in_float32(reduce, call)


@rule("reduce_window", fresh=True, weight=12)
def _general_reduce_window(call: Call) -> Kernel | None:
    ufunc = monoid_of(call.params["jaxpr"])
    if ufunc is None or len(call.ins) != 2:
        return None
    params, config = call.params, _base_config(call.params)
    dtype = call.dtype

    def reduce(x: np.ndarray, start: object) -> list[Raw]:
        # The number that is reduced first stands for the elements of the edges, too.
        result = _reduced_windows(padded(np.asarray(x), start, config), ufunc, params)
        return [ufunc(result, start).astype(dtype, copy=False)]

    return reduce


class _Offsets:
    """Slices of a padded operand, one for each place in the windows, row by row."""

    def __init__(self, operand: tuple[int, ...], call: Call, counts: Sequence[int]) -> None:
        params = call.params
        sizes, strides = params["window_dimensions"], params["window_strides"]
        self.config = [(low, high, 0) for low, high in params["padding"]]
        self.slices = [
            tuple(
                slice(i, i + (count - 1) * stride + 1, stride)
                for i, stride, count in zip(place, strides, counts, strict=True)
            )
            for place in itertools.product(*map(range, sizes))
        ]
        self.inside = padded(np.ones(operand, bool), False, self.config)

    def selected(self, x: np.ndarray, compare: Any) -> Raw:
        """Returns for each window the number of the place that XLA's ``select`` settles on."""
        edged = padded(x, 0, self.config)
        winner = np.full(self.inside[self.slices[0]].shape, -1)
        best = edged[self.slices[0]].copy()
        for place, index in enumerate(self.slices):
            new = edged[index]
            taken = self.inside[index] & ((winner < 0) | ~compare(best, new))
            best = np.where(taken, new, best)
            winner[taken] = place
        return winner


_SELECTORS = {"ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less}


@rule("select_and_scatter_add", fresh=True, weight=60)
def _select_and_scatter_add(call: Call) -> Kernel | None:
    compare = _SELECTORS.get(call.params["select_prim"].name)
    if compare is None:
        return None
    source, operand = call.ins
    offsets = _Offsets(operand.shape, call, source.shape)
    crop = tuple(
        slice(low, low + n) for (low, _, _), n in zip(offsets.config, operand.shape, strict=True)
    )
    wide = np.dtype(np.float32) if is_small_float(call.dtype) else call.dtype

    def scatter(heads: Raw, x: Raw) -> np.ndarray:
        winner = offsets.selected(x, compare)
        total = np.zeros(offsets.inside.shape, wide)
        heads = heads.astype(wide, copy=False)
        for place, index in enumerate(offsets.slices):
            total[index] += np.where(winner == place, heads, wide.type(0))
        return total[crop].astype(call.dtype, order="C")

    return scatter


@rule("select_and_gather_add", fresh=True, weight=60)
def _select_and_gather_add(call: Call) -> Kernel | None:
    compare = _SELECTORS.get(call.params["select_prim"].name)
    params = call.params
    dilations = (*params["base_dilation"], *params["window_dilation"])
    if compare is None or any(dilation != 1 for dilation in dilations):
        return None
    offsets = _Offsets(call.ins[1].shape, call, call.shape)

    def gather(tangents: Raw, x: np.ndarray) -> np.ndarray:
        winner = offsets.selected(x, compare)
        edged = padded(tangents, 0, offsets.config)
        result = np.zeros(call.shape, call.dtype)
        for place, index in enumerate(offsets.slices):
            result = np.where(winner == place, edged[index], result)
        return result

    return gather
