"""``mx.nd.linalg``: linear algebra on batches of matrices. Made when looked up."""

from __future__ import annotations

from ._array_operators import module_access
from ._ndarray import NDArray

__getattr__, __dir__ = module_access("linalg", NDArray, __name__)
