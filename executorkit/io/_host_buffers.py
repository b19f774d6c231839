"""Memory for batches that is used again when nobody holds its last contents any more."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

#: Alignment in bytes from which a device array on the CPU uses an array's memory without a copy.
_ALIGNMENT = 64


class HostBuffers:
    """Arrays of one shape and dtype, in memory that the system has cleared before, if possible.

    The memory of an array is used for another one when the array and everything that shares its
    memory, such as a device array made without a copy, have been deleted.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._size = math.prod(shape) * self._dtype.itemsize
        self._free: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """An array with arbitrary contents."""
        memory = self._free.pop() if self._free else self._allocate()
        # Every array over the memory, a device's too, refers to the one made from a memoryview.
        owner = np.frombuffer(memory.data, self._dtype)
        finalizer = weakref.finalize(owner, self._free.append, memory)
        finalizer.atexit = False
        return owner.reshape(self._shape)

    def _allocate(self) -> np.ndarray:
        memory = np.empty(self._size + _ALIGNMENT, np.uint8)
        begin = -memory.ctypes.data % _ALIGNMENT
        return memory[begin : begin + self._size]
