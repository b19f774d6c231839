"""``mx.nd.op``: the operators by their plain names. Made when looked up."""

from __future__ import annotations

from ._array_operators import module_access
from ._ndarray import NDArray

__getattr__, __dir__ = module_access("op", NDArray, __name__)
