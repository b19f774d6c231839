"""New arrays: from Python and NumPy values, or filled."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..context import Context, current_context
from ..ops._attrs import dtype_name
from ._ndarray import NDArray


def from_host(values: np.ndarray, ctx: Context | None = None) -> NDArray:
    """An NDArray of a NumPy array that nobody else will write to."""
    context = Context(ctx) if ctx is not None else current_context()
    with jax.enable_x64(True):
        return NDArray._from_jax(jax.device_put(values, context.device), context, shared=False)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An NDArray with a copy of the values of a list, number, NumPy array or NDArray."""
    if dtype is None:
        dtype = getattr(source_array, "dtype", "float32")
    return from_host(np.array(source_array, jax.numpy.dtype(dtype_name(dtype))), ctx)


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An NDArray of zeros."""
    return from_host(np.zeros(shape, jax.numpy.dtype(dtype_name(dtype or "float32"))), ctx)
