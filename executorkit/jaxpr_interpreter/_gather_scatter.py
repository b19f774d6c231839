"""Gather, scatter, and slices at computed positions."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._support.annotations import Arrays, Raw
from ._reductions import MONOIDS, argsort
from ._rules import Aval, Call, Kernel, is_floating, is_small_float, rule

#: Maximum number of scattered rows that are added one after the other.
_ROW_LIMIT = 16


def _window(operand: Aval, sizes: Sequence[int]) -> Callable[[Sequence[Any]], tuple[slice, ...]]:
    bounds = [(n - size, size) for n, size in zip(operand.shape, sizes, strict=True)]

    def index(starts: Arrays) -> tuple[slice, ...]:
        first = [min(max(int(i), 0), n) for i, (n, _) in zip(starts, bounds, strict=True)]
        return tuple([slice(i, i + size) for i, (_, size) in zip(first, bounds, strict=True)])

    return index


@rule("dynamic_slice", weight=0)
def _dynamic_slice(call: Call) -> Kernel:
    index = _window(call.ins[0], call.params["slice_sizes"])
    return lambda x, *starts: x[index(starts)]


def _updating(call: Call) -> Kernel:
    index = _window(call.ins[0], call.ins[1].shape)

    def update(x: np.ndarray, new: object, *starts: object) -> np.ndarray:
        x[index(starts)] = new
        return x

    return update


@rule("dynamic_update_slice", fresh=True, in_place=_updating)
def _dynamic_update_slice(call: Call) -> Kernel:
    update = _updating(call)
    return lambda x, *operands: update(np.array(x), *operands)


@lru_cache(maxsize=16)
def _batch_steps(size: int, stride: int, column: tuple[int, ...]) -> np.ndarray:
    # Not kept in plans: of ever-new sizes there are hundreds.
    return (np.arange(size, dtype=np.int64) * stride).reshape(column)


class Windows:
    """The windows of a gather or scatter in the operand, flattened to a matrix: its columns are the
    trailing axes that each window covers whole, and a window is a set of rows."""

    def __init__(
        self,
        operand: tuple[int, ...],
        indices: tuple[int, ...],
        sizes: Sequence[int],
        index_map: Sequence[int],
        operand_batch: Sequence[int],
        indices_batch: Sequence[int],
    ) -> None:
        self._index_map = index_map
        #: Shape of the indices without their last axis, the coordinates of a window.
        self.batch = indices[:-1]
        moving = {*index_map, *operand_batch}
        rank = len(operand)
        while rank and sizes[rank - 1] == operand[rank - 1] and rank - 1 not in moving:
            rank -= 1
        #: Number of columns, and the sizes of a window: along the axes of rows, and whole.
        self.columns = math.prod(operand[rank:])
        self.leading = tuple(sizes[:rank])
        self.sizes = tuple(sizes)
        strides = [math.prod(operand[i + 1 : rank]) for i in range(rank)]
        self._strides = strides
        self._limits = [operand[i] - sizes[i] for i in range(len(operand))]
        self._offsets = self._grid(self.leading, strides)
        #: Operands of :func:`_batch_steps` for the axes that are one batch with the indices'.
        self._batches: list[tuple[int, int, tuple[int, ...]]] = []
        for axis, of_indices in zip(operand_batch, indices_batch, strict=True):
            column = [1] * len(self.batch)
            column[of_indices] = self.batch[of_indices]
            self._batches.append((operand[axis], strides[axis], tuple(column)))

    @staticmethod
    def _grid(sizes: tuple[int, ...], strides: Sequence[int]) -> Raw:
        total: Raw = np.zeros(sizes, np.int64)
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            if size > 1:
                column = [1] * len(sizes)
                column[axis] = size
                total = total + (np.arange(size, dtype=np.int64) * stride).reshape(column)
        return total

    def rows(self, indices: Raw, masked: bool = True) -> tuple[Raw, Raw]:
        """Returns row numbers, shaped ``(*batch, *leading)``, of windows moved into the operand;
        and a mask of the windows that were inside, None if all were, or it is not ``masked``."""
        valid, start = None, np.int64(0)
        for batch in self._batches:
            start = start + _batch_steps(*batch)
        for n, axis in enumerate(self._index_map):
            index = indices[..., n]
            # Unsigned 64-bit indices may be beyond int64.
            clipped = np.minimum(np.maximum(index, 0), self._limits[axis]).astype(np.int64)
            if masked:
                inside = clipped == index
                if not inside.all():
                    valid = inside if valid is None else valid & inside
            stride = self._strides[axis]
            start = start + (clipped if stride == 1 else clipped * stride)
        if start.shape != self.batch:
            start = np.broadcast_to(start, self.batch)
        offsets = self._offsets
        start = start.reshape(self.batch + (1,) * offsets.ndim)
        return start if offsets.size == 1 else start + offsets, valid


@rule("gather", fresh=True, weight=30)
def _gather(call: Call) -> Kernel | None:
    params, operand = call.params, call.ins[0]
    numbers, mode = params["dimension_numbers"], params["mode"].name
    if mode not in {"CLIP", "PROMISE_IN_BOUNDS", "FILL_OR_DROP"}:
        return None
    windows = Windows(
        operand.shape,
        call.ins[1].shape,
        params["slice_sizes"],
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    hidden = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    kept = [size for i, size in enumerate(params["slice_sizes"]) if i not in hidden]
    batch = len(windows.batch)
    shape = windows.batch + tuple(kept)
    order = _positions(numbers.offset_dims, batch, len(kept))
    in_order = order == tuple(range(len(order)))
    columns = windows.columns
    fill = _fill_value(params["fill_value"], operand.dtype) if mode == "FILL_OR_DROP" else None

    def gather(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        rows, valid = windows.rows(indices, masked=fill is not None)
        if not x.size:
            result = np.zeros(shape, x.dtype)
        else:
            matrix = x.reshape(-1) if columns == 1 else x.reshape(-1, columns)
            result = matrix.take(rows, 0, mode="clip").reshape(shape)
        if fill is not None and valid is not None:
            result = np.where(valid.reshape(valid.shape + (1,) * len(kept)), result, fill)
        return result if in_order else result.transpose(order)

    return gather


def _positions(offset_dims: Sequence[int], batch: int, kept: int) -> tuple[int, ...]:
    window, outer = iter(range(batch, batch + kept)), iter(range(batch))
    return tuple([next(window if i in offset_dims else outer) for i in range(batch + kept)])


def _fill_value(value: object, dtype: np.dtype) -> Any:
    if value is not None:
        return np.asarray(value, dtype)
    if dtype.kind in "fc" or is_floating(dtype):
        return np.asarray(np.nan, dtype)
    if dtype.kind == "b":
        return np.True_
    info = np.iinfo(dtype)
    return np.asarray(info.min if dtype.kind == "i" else info.max, dtype)


#: Ufuncs of the scattering primitives; None replaces.
_SCATTERS = {
    "scatter": None,
    "scatter-sub": np.subtract,
    **{f"scatter-{name}": MONOIDS[name] for name in ("add", "mul", "min", "max")},
}


@rule(*_SCATTERS, fresh=True, weight=100)
def _scatter(call: Call) -> Kernel | None:
    params, operand = call.params, call.ins[0]
    numbers, mode = params["dimension_numbers"], params["mode"].name
    combine = _SCATTERS[call.name]
    if mode not in {"CLIP", "PROMISE_IN_BOUNDS", "FILL_OR_DROP"}:
        return None
    update = params["update_jaxpr"]
    if combine is None and update is not None and update.results != update.arguments[1:]:
        return None  # it does anything but return the update
    hidden = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window_sizes = iter([call.ins[2].shape[i] for i in numbers.update_window_dims])
    windows = Windows(
        operand.shape,
        call.ins[1].shape,
        [1 if i in hidden else next(window_sizes) for i in range(len(operand.shape))],
        numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    window_dims = numbers.update_window_dims
    order = (*[i for i in range(len(call.ins[2].shape)) if i not in window_dims], *window_dims)
    rows_shape = (-1, windows.columns) if windows.columns > 1 else (-1,)
    drop = mode != "CLIP"
    small = combine is not None and is_small_float(operand.dtype)

    def scatter(x: Raw, indices: np.ndarray, updates: Raw) -> np.ndarray:
        result = np.array(x, np.float32 if small else None, order="C")
        if not updates.size or not x.size:
            return result.astype(operand.dtype, copy=False)
        rows, valid = windows.rows(indices)
        new = updates.transpose(order)
        if drop and valid is not None:
            rows, new = rows[valid], new[valid]
        _store(result.reshape(rows_shape), rows.reshape(-1), new.reshape(rows_shape), combine)
        return result.astype(operand.dtype, copy=False)

    return scatter


def _store(rows: Raw, numbers: Raw, new: Raw, combine: Any) -> None:
    if combine is None:
        rows[numbers] = new
    elif numbers.size <= _ROW_LIMIT:
        for i, x in zip(numbers.tolist(), new, strict=True):
            rows[i] = combine(rows[i], x)
    elif _distinct(numbers):
        rows[numbers] = combine(rows[numbers], new)
    elif rows.ndim > 1 and combine is np.add:
        # Rows that are written to the same place are summed side by side.
        order = argsort(numbers, 0)
        ordered = numbers[order]
        firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        rows[ordered[firsts]] += np.add.reduceat(new[order], firsts, axis=0)
    else:
        combine.at(rows, numbers, new)


def _distinct(numbers: Raw) -> bool:
    ordered = np.sort(numbers)
    return bool((ordered[1:] != ordered[:-1]).all())
