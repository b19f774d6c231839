"""Functions that combine samples into a batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...context import Context
from ...errors import BatchError, DataArgumentError
from ...ndarray import NDArray, array, stack
from ...ndarray.array_classes import as_new_arrays
from ...ops.schema.attrs import DTYPE_NUMBERS
from ._shared_memory import arena, shared_array


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Combines samples into a batch: NDArrays are stacked, tuples combined part by part into a
    list. Numbers, NumPy arrays and nested lists of numbers become an NDArray of their dtype.

    >>> [part.asnumpy().tolist() for part in default_batchify_fn([(1, 0.5), (2, 1.5)])]
    [[1, 2], [0.5, 1.5]]
    """
    if isinstance(data[0], NDArray):
        return as_new_arrays([stack(*data)])[0]
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data, strict=False)]
    values = _numbers(data)
    return as_new_arrays([array(values, dtype=values.dtype)])[0]


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """Does :func:`default_batchify_fn` in a worker, with arrays in ``cpu_shared(0)``."""
    first = data[0]
    if isinstance(first, tuple):
        return [default_mp_batchify_fn(part) for part in zip(*data, strict=False)]
    if isinstance(first, NDArray):
        if not all(isinstance(x, NDArray) for x in data):
            stack(*data)  # raises the error of arrays that do not fit
        arrays, data = data, [x.host for x in data]
        if any(x.shape != first.shape or x.dtype != first.dtype for x in data):
            stack(*arrays)
    elif first.__class__ is not np.ndarray or any(
        x.__class__ is not np.ndarray or x.shape != first.shape or x.dtype != first.dtype
        for x in data
    ):
        return shared_array(_numbers(data))
    else:
        _numbers(data[:1])
    values = arena.empty((len(data), *first.shape), data[0].dtype)
    return shared_array(np.stack(data, out=values))


def _numbers(data: Sequence[Any]) -> np.ndarray:
    try:
        values = np.asarray(data)
    except ValueError as error:
        problem = f"its samples have no common shape: {error}"
        raise BatchError("a batch", problem, hint="a batchify_fn that pads them") from None
    if values.dtype.name not in DTYPE_NUMBERS:
        problem = f"its samples are of type {type(data[0]).__name__}, expected arrays or numbers"
        raise DataArgumentError("a batch", problem, hint="a batchify_fn for them")
    return values


def as_in_context(data: Any, context: Context) -> Any:
    if isinstance(data, NDArray):
        return data.as_in_context(context)
    if isinstance(data, list | tuple):
        return [as_in_context(part, context) for part in data]
    return data


def as_new_batch(data: Any) -> Any:
    """Returns the batch with arrays of :func:`new_class`."""
    if isinstance(data, list):
        return [as_new_batch(part) for part in data]
    return as_new_arrays([data])[0]
