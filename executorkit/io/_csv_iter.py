"""CSVIter: batches of rows of a text file of numbers."""

import math
import operator
import os
from typing import Any

import numpy as np

from ..errors import DataArgumentError, FileAccessError, FileFormatError
from ._file_iter import RowIter
from ._iterator_options import convert_option, warn_of_unknown

_TYPES = ("float32", "int32", "int64")


class CSVIter(RowIter):
    """Batches of rows of a CSV file; a row holds the numbers of one example.

    data_csv, data_shape
        the file, without a header line, and the shape of one example.
    label_csv, label_shape
        the same for labels; 0 without a file. Shape (1,) makes batches of shape (batch_size,).
    round_batch
        True fills the last batch with the first rows, and the next epoch begins after them. False
        fills it with the previous batch's rows at these positions, or zeros. ``batch.pad`` counts
        them in both cases.
    dtype
        'float32', 'int32' or 'int64', of data and labels.
    prefetch_buffer, ctx, device_id
        without effect. Every other keyword is ignored, too, with a warning.

    ``batch.index`` holds row numbers (MXNet counts on beyond the last row in later epochs). Files
    are read whole at construction. Raises OSError if one cannot be read, FileFormatError (a
    ValueError) if a row has another size.
    """

    def __init__(
        self,
        *,
        data_csv: Any = None,
        data_shape: Any = None,
        label_csv: Any = "NULL",
        label_shape: Any = (1,),
        batch_size: Any = None,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        device_id: int = -1,
        dtype: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **unknown: Any,
    ) -> None:
        warn_of_unknown("CSVIter", unknown)
        rounds = convert_option("CSVIter: round_batch", bool, round_batch)
        if data_csv is None:
            raise DataArgumentError("CSVIter: data_csv", "it is missing")
        dtype_name = "float32" if dtype is None else np.dtype(dtype).name
        if dtype_name not in _TYPES:
            problem = f"{dtype_name}, expected one of {', '.join(_TYPES)}"
            raise DataArgumentError("CSVIter: dtype", problem)
        shape, labels = _dims(data_shape, "data_shape"), _dims(label_shape, "label_shape")
        label_dims = () if labels == (1,) else labels
        data = _read(data_csv, shape, dtype_name)
        if label_csv is None or str(label_csv) == "NULL":
            label = np.zeros((len(data), *label_dims), dtype_name)
        else:
            label = _read(label_csv, labels, dtype_name).reshape(-1, *label_dims)
        if len(label) < len(data):
            raise FileFormatError(str(label_csv), f"it has {len(label)} rows, expected {len(data)}")
        super().__init__(batch_size, data, label, rounds, data_name, label_name)


def _dims(shape: Any, name: str) -> tuple[int, ...]:
    try:
        dims = tuple(operator.index(d) for d in shape)
    except TypeError:
        problem = "it is missing" if shape is None else f"{shape!r}, expected a tuple of integers"
        raise DataArgumentError(f"CSVIter: {name}", problem) from None
    if not dims or min(dims) < 1:
        raise DataArgumentError(f"CSVIter: {name}", f"{dims}, expected sizes from 1 on")
    return dims


def _read(path: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    try:
        with open(os.fspath(path)) as file:
            rows = np.loadtxt(file, np.dtype(dtype), delimiter=",", ndmin=2)
    except OSError as error:
        raise FileAccessError(str(path), error.strerror or str(error)) from None
    except ValueError as error:
        raise FileFormatError(str(path), str(error)) from None
    if rows.shape[1] != math.prod(shape):
        problem = f"a row has {rows.shape[1]} numbers, expected {math.prod(shape)}"
        raise FileFormatError(str(path), problem, because=f"an example has shape {shape}")
    return rows.reshape(-1, *shape)
