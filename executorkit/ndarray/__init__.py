"""MXNet's mutable array over ``jax.Array``, and every operator called eagerly on it.

``mx.nd.X`` of an operator is made when it is looked up, with a true signature and docstring.
"""

from __future__ import annotations

from . import _internal as _internal
from . import contrib, image, linalg, op, random, sparse
from ._call import module_access as _module_access
from ._creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    histogram,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    zeros,
)
from ._eager import clear_eager_cache, eager_cache_info
from ._functions import FUNCTIONS as _FUNCTIONS
from ._ndarray import NDArray, split_v2
from ._params import load, load_frombuffer, save
from ._pending import waitall

globals().update(_FUNCTIONS)

__all__ = [
    "NDArray",
    "arange",
    "array",
    "clear_eager_cache",
    "concatenate",
    "contrib",
    "eager_cache_info",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "histogram",
    "image",
    "linalg",
    "linspace",
    "load",
    "load_frombuffer",
    "moveaxis",
    "onehot_encode",
    "ones",
    "op",
    "random",
    "save",
    "sparse",
    "split_v2",
    "waitall",
    "zeros",
    *_FUNCTIONS,
]

__getattr__, __dir__ = _module_access("op", NDArray, __name__, globals())
