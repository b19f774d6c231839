"""MXDataIter, the base class of iterators over files, and RowIter, for files of rows of numbers."""

import operator
from typing import Any

import numpy as np

from ..arrays.values import to_device
from ..context import Context, current_context
from ..errors import DataArgumentError, MXNetError
from ..ndarray import NDArray
from ._data_batch import DataBatch, DataDesc, DataIter

#: The data or labels of a batch: on the host, or on the device already.
Rows = np.ndarray | NDArray


class MXDataIter(DataIter):
    """Base class of iterators over files: one data and one label array, in the context current at
    construction.

    batch_size
        The number of rows of a batch.
    data_shape, label_shape
        The shapes of a row's data and label.
    dtype, label_dtype
        Their dtypes; ``label_dtype`` None: ``dtype``.
    data_name, label_name
        Their names in ``provide_data`` and ``provide_label``.
    """

    def __init__(
        self,
        batch_size: object,
        data_shape: tuple[int, ...],
        label_shape: tuple[int, ...],
        dtype: str,
        data_name: str,
        label_name: str,
        label_dtype: str | None = None,
    ) -> None:
        super().__init__(positive_integer(type(self).__name__, "batch_size", batch_size))
        data_type, label_type = (np.dtype(d).type for d in (dtype, label_dtype or dtype))
        self.provide_data = [DataDesc(data_name, (self.batch_size, *data_shape), data_type)]
        self.provide_label = [DataDesc(label_name, (self.batch_size, *label_shape), label_type)]
        self._context: Context = current_context()
        self._batch: tuple[Rows, Rows, int, np.ndarray] | None = None

    def _load(self) -> tuple[Rows, Rows, int, np.ndarray] | None:
        raise NotImplementedError

    def iter_next(self) -> bool:
        self._batch = self._load()
        return self._batch is not None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())

    def getdata(self) -> NDArray:
        return self._to_array(self._current()[0])

    def getlabel(self) -> NDArray:
        return self._to_array(self._current()[1])

    def getpad(self) -> int:
        return self._current()[2]

    def getindex(self) -> np.ndarray:
        return self._current()[3].astype(np.uint64)

    def _to_array(self, rows: Rows) -> NDArray:
        if isinstance(rows, NDArray):
            return rows
        context = self._context
        return NDArray.from_jax(to_device(rows, context.device), context, shared=False)

    def _current(self) -> tuple[Rows, Rows, int, np.ndarray]:
        if self._batch is None:
            raise MXNetError(type(self).__name__, "it has no current batch", hint="call next()")
        return self._batch


def positive_integer(where: str, name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        problem = "it is missing" if value is None else f"{value!r}, expected an integer from 1 on"
        raise DataArgumentError(f"{where}: {name}", problem)
    return number


class RowIter(MXDataIter):
    """Batches of rows, in order; ``round_batch`` as of :class:`CSVIter`."""

    def __init__(
        self,
        batch_size: object,
        data: Any,
        label: Any,
        round_batch: bool,
        data_name: str,
        label_name: str,
    ) -> None:
        super().__init__(
            batch_size, data.shape[1:], label.shape[1:], np.dtype(data.dtype).name,
            data_name, label_name, label_dtype=np.dtype(label.dtype).name,
        )  # fmt: skip
        self._data, self._label = data, label
        self.round_batch = round_batch
        self._next_row = 0
        self._overflow = 0
        self._previous: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def reset(self) -> None:
        self._next_row, self._overflow = self._overflow, 0
        self._batch = None

    def _load(self) -> tuple[np.ndarray, np.ndarray, int, np.ndarray] | None:
        count, size = len(self._data), self.batch_size
        start = self._next_row
        if start >= count or self._overflow:
            return None
        self._next_row = start + size
        pad = max(start + size - count, 0)
        rows = np.arange(start, start + size)
        if pad and not self.round_batch:
            remaining = rows[: size - pad]
            batch = [x.copy() for x in self._previous or self._zero_batch()]
            for target, source in zip(batch, (self._data, self._label), strict=False):
                target[: size - pad] = source[remaining]
            batch[2][: size - pad] = remaining
            data, label, rows = batch
        else:
            self._overflow = (start + size) % count if pad else 0
            rows %= count
            data, label = self._data[rows], self._label[rows]
        self._previous = data, label, rows
        return data, label, pad, rows

    def _zero_batch(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = self.batch_size
        data, label = (np.zeros((size, *x.shape[1:]), x.dtype) for x in (self._data, self._label))
        return data, label, np.zeros(size, np.int64)
