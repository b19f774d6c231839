"""Pooling with MXNet's number of windows: ONNX gets the padding that the last window needs, since
its ``ceil_mode`` has changed. Images of varying size use ``ceil_mode``."""

import math
from dataclasses import dataclass

import numpy as np

from .._draft import Value
from .._node_writer import NodeWriter, Operand, translates
from .convolution_nodes import is_channels_last, per_axis, to_channels_first, to_channels_last
from .elementwise_nodes import cube_root


@dataclass(frozen=True, slots=True)
class _Windows:
    kernel: list[int]
    stride: list[int]
    pad: list[int]
    surplus: list[int]
    rounds_up: bool

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def ends(self) -> list[int]:
        return [p + e for p, e in zip(self.pad, self.surplus, strict=True)]

    @property
    def may_be_empty(self) -> bool:
        return any(end >= k for end, k in zip(self.ends, self.kernel, strict=True))


@translates("Pooling", "Pooling_v1")
def _pooling(w: NodeWriter) -> str:
    layout = w["layout"] if w.operator == "Pooling" else None
    data: Operand = w.data
    rank = w.data.rank - 2
    last = is_channels_last(layout)
    sizes, shape = w.data.sizes[2:], w.data.shape[2:]
    if last:
        data = to_channels_first(w, data, w.data.rank)
        sizes, shape = w.data.sizes[1:-1], w.data.shape[1:-1]
    if w["global_pool"]:
        result = _global(w, data, list(range(2, rank + 2)))
    else:
        result = _windowed(w, data, _windows(w, rank, sizes, None in shape))
    return to_channels_last(w, result, w.data.rank) if last else result


def _windows(w: NodeWriter, rank: int, sizes: tuple[int, ...], varies: bool) -> _Windows:
    kernel, convention = list(w["kernel"]), w["pooling_convention"]
    stride, pad = per_axis(w["stride"], rank, 1), per_axis(w["pad"], rank, 0)
    if varies:
        if convention == "same":
            w.refuse("pooling_convention='same' with images of a size that varies")
        return _Windows(kernel, stride, pad, [0] * rank, convention == "full")
    outs = w.output.sizes[1:-1] if is_channels_last(w.step.params.get("layout")) else (
        w.output.sizes[2:]
    )  # fmt: skip
    surplus = [
        max(0, (o - 1) * s + k - n - 2 * p)
        for o, s, k, n, p in zip(outs, stride, kernel, sizes, pad, strict=True)
    ]
    return _Windows(kernel, stride, pad, surplus, False)


def _power(w: NodeWriter, data: Operand, power: int) -> str:
    result = data
    for _ in range(power - 1):
        result = w.op("Mul", result, data)
    return result if isinstance(result, str) else result.name


def _root(w: NodeWriter, data: str, power: int) -> str:
    if power == 1:
        return data
    return w.op("Sqrt", data) if power == 2 else cube_root(w, data)


def _global(w: NodeWriter, data: Operand, axes: list[int]) -> str:
    kind = w["pool_type"]
    if kind == "max":
        return w.op("GlobalMaxPool", data)
    if kind == "avg":
        return w.op("GlobalAveragePool", data)
    if kind == "sum":
        return w.reduce("Sum", data, axes)
    power = w["p_value"]
    return _root(w, w.reduce("Sum", _power(w, data, power), axes), power)


def _windowed(w: NodeWriter, data: Operand, at: _Windows) -> str:
    kind = w["pool_type"]
    if w.operator == "Pooling_v1":
        return _windowed_v1(w, data, at)
    if kind == "max":
        if at.may_be_empty:
            lowest = w.scalar(-np.inf if w.data.is_float else np.iinfo(w.data.dtype).min)
            return _pool(w, "MaxPool", _padded(w, data, at, lowest, True), at, False)
        return _pool(w, "MaxPool", data, at, True)
    if kind == "avg":
        return _average(w, data, at)
    power = w["p_value"] if kind == "lp" else 1
    mean = _pool(w, "AveragePool", _padded(w, _power(w, data, power), at, "", True), at, False)
    return _root(w, w.op("Mul", mean, w.scalar(float(math.prod(at.kernel)))), power)


def _windowed_v1(w: NodeWriter, data: Operand, at: _Windows) -> str:
    # Padding takes part in a maximum, and averages divide by the whole window.
    if w["pool_type"] == "max":
        padded = _padded(w, data, at, "", False)
        if any(at.surplus):
            padded = w.pad(padded, [0] * (at.rank + 4) + at.surplus, w.scalar(-np.inf))
        return _pool(w, "MaxPool", padded, at, False)
    mean = _pool(w, "AveragePool", _padded(w, data, at, "", True), at, False)
    if w["pool_type"] == "avg":
        return mean
    return w.op("Mul", mean, w.scalar(float(math.prod(at.kernel))))


def _average(w: NodeWriter, data: Operand, at: _Windows) -> str:
    # Elements that the last window reads beyond the padding never count.
    include = w["count_include_pad"] is not False
    if at.may_be_empty:
        w.refuse("windows that lie in the padding alone")
    if include and any(at.pad) and not any(at.surplus) and not at.rounds_up:
        return _pool(w, "AveragePool", data, at, True, count_include_pad=1)
    if not include or not any(at.pad):
        return _pool(w, "AveragePool", data, at, True, count_include_pad=0)
    padded = _padded(w, data, at, "", False)
    inner = _Windows(at.kernel, at.stride, [0] * at.rank, at.surplus, at.rounds_up)
    return _pool(w, "AveragePool", padded, inner, True, count_include_pad=0)


def _padded(w: NodeWriter, data: Operand, at: _Windows, value: str, surplus: bool) -> str:
    return w.pad(data, [0, 0, *at.pad, 0, 0, *(at.ends if surplus else at.pad)], value)


def _pool(w: NodeWriter, kind: str, data: Operand, at: _Windows, padded: bool, **attrs: int) -> str:
    return w.op(
        kind, data, kernel_shape=at.kernel, strides=at.stride, ceil_mode=int(at.rounds_up),
        pads=[*at.pad, *at.ends] if padded else [0] * (2 * at.rank), **attrs,
    )  # fmt: skip


@translates("_contrib_AdaptiveAvgPooling2D")
def _adaptive(w: NodeWriter) -> str:
    cells = w.output.sizes[2:]
    if cells == (1, 1):
        return w.op("GlobalAveragePool", w.data)
    if None in w.data.shape[2:]:
        w.refuse("more than one cell with images of a size that varies")
    return separable(
        w, w.data, [_averages(n, m) for n, m in zip(w.data.sizes[2:], cells, strict=True)]
    )


def _averages(size: int, cells: int) -> np.ndarray:
    matrix = np.zeros((cells, size))
    for i in range(cells):
        start, stop = i * size // cells, -(-(i + 1) * size // cells)
        matrix[i, start:stop] = 1 / (stop - start)
    return matrix


def separable(w: NodeWriter, data: Value, matrices: list[np.ndarray]) -> str:
    rows, columns = (m.astype(data.dtype) for m in matrices)
    return w.op("MatMul", w.op("MatMul", w.array(rows), data), w.array(columns.T))
