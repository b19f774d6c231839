"""RowIter, the base class of iterators over the rows of files of numbers, read at construction."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ._file_iter import MXDataIter


class RowTable(Protocol):
    """Rows, which an array of their numbers selects; a NumPy array, or one that makes such."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, and the shape of one."""
        ...

    @property
    def dtype(self) -> Any:
        """The rows' dtype."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray: ...


class RowIter(MXDataIter):
    """Base class: batches of rows, in order.

    With ``round_batch`` the last batch is filled with the first rows, and the next epoch begins
    after them; without, with those that the previous batch had at these positions. ``batch.pad``
    counts them.
    """

    def __init__(
        self,
        batch_size: Any,
        data: RowTable,
        label: RowTable,
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
        """Goes back to the first row, or to the first after those that filled the last batch."""
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
