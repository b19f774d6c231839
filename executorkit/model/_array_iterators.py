"""What FeedForward is given as data, made into iterators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ndarray as nd
from ..errors import BatchError, DataArgumentError, explain
from ..io import DataIter, NDArrayIter
from ..ndarray import NDArray

_ARRAYS = (np.ndarray, NDArray)


def training_or_test_iterator(data: Any, labels: Any, rows: int, train: bool) -> DataIter:
    """An iterator over data and labels; an iterator is returned as it is.

    data
        a NumPy array or NDArray, one example per row; batches have ``rows`` rows, or all there are.
    labels
        as many, of shape (n,) or (n, 1); None, except for training, means zeros.
    train
        shuffles, with ``numpy.random``, and takes rows that are left over into the next epoch;
        otherwise batches are in order, and the last one is padded.
    """
    if isinstance(data, DataIter):
        return data
    if not isinstance(data, _ARRAYS):
        problem = f"a {type(data).__name__}, expected a DataIter, an NDArray or a NumPy array"
        raise DataArgumentError(explain("X", problem))
    count = data.shape[0]
    if labels is None:
        if train:
            raise BatchError(explain("y", "no labels are given, X is an array"))
        labels = np.zeros(count)
    if not isinstance(labels, _ARRAYS):
        problem = f"a {type(labels).__name__}, expected an array since X is one"
        raise DataArgumentError(explain("y", problem))
    if labels.shape[0] != count:
        raise BatchError(explain("y", f"{labels.shape[0]} labels for {count} examples"))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.reshape((-1,))
    if labels.ndim != 1:
        raise BatchError(explain("y", f"shape {labels.shape}, expected ({count},)"))
    rows = min(count, rows)
    if train:
        return NDArrayIter(data, labels, rows, shuffle=True, last_batch_handle="roll_over")
    return NDArrayIter(data, labels, rows)


def evaluation_iterator(given: Any, rows: int) -> DataIter | None:
    """An iterator over evaluation data: an iterator, (data, labels), or (iterator, None).

    Data and labels may be lists. Like MXNet's, batches of arrays are shuffled.
    """
    if given is None or isinstance(given, DataIter):
        return given
    if not isinstance(given, tuple | list) or len(given) != 2:
        problem = f"a {type(given).__name__}, expected a DataIter or a pair (data, labels)"
        raise DataArgumentError(explain("eval_data", problem))
    data, labels = given
    if data is None:
        raise BatchError(explain("eval_data", "the data in the pair is None"))
    if labels is None and isinstance(data, DataIter):
        return data
    data, labels = (np.array(a) if isinstance(a, list) else a for a in (data, labels))
    return training_or_test_iterator(data, labels, rows, train=True)


class RowCollector:
    """Rows of batches, collected in host memory."""

    def __init__(self, count: int) -> None:
        self._parts: list[list[np.ndarray]] = [[] for _ in range(count)]

    def add(self, arrays: list[nd.NDArray], rows: int) -> None:
        """Takes the first ``rows`` rows of each array."""
        for parts, array in zip(self._parts, arrays, strict=True):
            parts.append(array[0:rows].asnumpy())

    def whole(self) -> Any:
        """One array, or a list of them if there are several."""
        joined = [np.concatenate(parts) for parts in self._parts]
        return joined[0] if len(joined) == 1 else joined
