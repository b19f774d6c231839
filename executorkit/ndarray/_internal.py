"""``mx.nd._internal``: the operators whose names begin with an underscore. Made when looked up."""

from __future__ import annotations

from ._array_operators import module_access
from ._ndarray import NDArray

__getattr__, __dir__ = module_access("_internal", NDArray, __name__)
