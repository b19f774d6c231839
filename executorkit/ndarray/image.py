"""``mx.nd.image``: image transformations. Made when looked up."""

from ._array_operators import array_module
from ._ndarray import NDArray

__getattr__, __dir__ = array_module(globals(), "image", NDArray)
