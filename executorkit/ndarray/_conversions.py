"""From an NDArray to Python numbers, NumPy, JAX and DLPack."""

from __future__ import annotations

import operator
from typing import Any

import jax
import numpy as np

from ..errors import MXNetError, ShapeError, explain
from ._handle import Handle


class Conversions(Handle):
    """What other libraries and Python itself ask of an array."""

    __slots__ = ()

    def asscalar(self) -> Any:
        """The one element, as a NumPy scalar; ValueError if there are more or fewer."""
        if self.size != 1:
            raise ShapeError(
                explain("asscalar", f"an array of shape {self.shape} is not one element")
            )
        return self.asnumpy().reshape(())[()]

    def item(self) -> Any:
        """The one element as a Python number; ValueError if there are more or fewer."""
        return self.asscalar().item()

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ShapeError(
                explain("bool", f"an array of shape {self.shape} is neither true nor false")
            )
        return bool(self.size and self.asscalar())

    __nonzero__ = __bool__

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if self.ndim > 1 or self.size != 1:
            raise TypeError(explain("index", f"an array of shape {self.shape} is not an integer"))
        return operator.index(self.asscalar())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The contents for NumPy: a copy, unless ``copy=False`` asks for a read-only view."""
        if copy is False:
            return np.asarray(self.jax, dtype=dtype, copy=False)
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype, copy=False)

    def __jax_array__(self) -> jax.Array:
        return self.jax

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.jax.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        value: Any = self.jax
        return value.__dlpack_device__()

    def to_dlpack_for_read(self) -> Any:
        """The contents as a DLPack capsule. Later writes to this array do not change it."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> Any:
        """Not served: the buffers are immutable. Raises MXNetError."""
        raise MXNetError(
            explain(
                "to_dlpack_for_write",
                "the buffer of an NDArray cannot be written to by others",
                hint="write to the NDArray itself: x[:] = ...",
            )
        )
