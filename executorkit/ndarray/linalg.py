"""``mx.nd.linalg``: linear algebra on batches of matrices. Made when looked up."""

from ._array_operators import array_module
from ._ndarray import NDArray

__getattr__, __dir__ = array_module(globals(), "linalg", NDArray)
