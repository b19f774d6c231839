"""MXDataIter, the base class of iterators over files."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..context import Context, current_context
from ..errors import DataArgumentError, MXNetError
from ..ndarray import NDArray
from ..ndarray.values import to_device
from ._data_batch import DataBatch, DataDesc, DataIter

#: The data or labels of a batch: on the host, or on the device already.
Rows = np.ndarray | NDArray


class MXDataIter(DataIter):
    """Base class of iterators over files. A batch holds one data and one label array.

    Batches are in the context that is current at construction.
    """

    def __init__(
        self,
        batch_size: Any,
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
        """The next batch's data, labels, pad and row numbers; None at the end."""
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
        """Row numbers of the current batch's examples, uint64."""
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
    """The value of an argument that has to be a positive integer."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        problem = "it is missing" if value is None else f"{value!r}, expected an integer from 1 on"
        raise DataArgumentError(f"{where}: {name}", problem)
    return number
