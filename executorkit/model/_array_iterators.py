"""Iterators over the arrays that FeedForward takes as data, and a collector of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ndarray as nd
from ..errors import BatchError, DataArgumentError
from ..io import DataIter, NDArrayIter
from ..ndarray import NDArray

_ARRAYS = (np.ndarray, NDArray)


def as_iterator(data: Any, labels: Any, rows: int, train: bool) -> DataIter:
    """An iterator over data and labels; an iterator is returned unchanged.

    data
        a NumPy array or NDArray, one example per row; batches have ``rows`` rows, or all of them.
    labels
        one label for each row, of shape (n,) or (n, 1); None means zeros, and is refused for
        training.
    train
        True shuffles, with ``numpy.random``, and carries incomplete batches over to the next epoch;
        otherwise batches are in order, and the last one is padded.
    """
    if isinstance(data, DataIter):
        return data
    if not isinstance(data, _ARRAYS):
        problem = f"a {type(data).__name__}, expected a DataIter, an NDArray or a NumPy array"
        raise DataArgumentError("X", problem)
    count = data.shape[0]
    if labels is None:
        if train:
            raise BatchError("y", "no labels are given, X is an array")
        labels = np.zeros(count)
    if not isinstance(labels, _ARRAYS):
        problem = f"a {type(labels).__name__}, expected an array since X is one"
        raise DataArgumentError("y", problem)
    if labels.shape[0] != count:
        raise BatchError("y", f"{labels.shape[0]} labels for {count} examples")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.reshape((-1,))
    if labels.ndim != 1:
        raise BatchError("y", f"shape {labels.shape}, expected ({count},)")
    rows = min(count, rows)
    if train:
        return NDArrayIter(data, labels, rows, shuffle=True, last_batch_handle="roll_over")
    return NDArrayIter(data, labels, rows)


def evaluation_iterator(eval_data: Any, rows: int) -> DataIter | None:
    """An iterator over evaluation data: an iterator, (data, labels), or (iterator, None).

    Data and labels may be lists. Like MXNet's, batches of arrays are shuffled.
    """
    if eval_data is None or isinstance(eval_data, DataIter):
        return eval_data
    if not isinstance(eval_data, tuple | list) or len(eval_data) != 2:
        problem = f"a {type(eval_data).__name__}, expected a DataIter or a pair (data, labels)"
        raise DataArgumentError("eval_data", problem)
    data, labels = eval_data
    if data is None:
        raise BatchError("eval_data", "the data in the pair is None")
    if labels is None and isinstance(data, DataIter):
        return data
    data, labels = (np.array(a) if isinstance(a, list) else a for a in (data, labels))
    return as_iterator(data, labels, rows, train=True)


class RowCollector:
    """Rows of batches, collected in host memory."""

    def __init__(self, count: int) -> None:
        self._parts: list[list[np.ndarray]] = [[] for _ in range(count)]

    def add(self, arrays: list[nd.NDArray], rows: int) -> None:
        """Takes the first ``rows`` rows of each array."""
        for parts, array in zip(self._parts, arrays, strict=True):
            parts.append(array[0:rows].asnumpy())

    def joined(self) -> Any:
        """One array, or a list of them if there are several."""
        arrays = [np.concatenate(parts) for parts in self._parts]
        return arrays[0] if len(arrays) == 1 else arrays
