"""MXNet's mutable array over ``jax.Array``, and every operator called eagerly on it.

``mx.nd.X`` of an operator is made when it is looked up, with a true signature and docstring.
"""

from __future__ import annotations

from . import (
    _internal as _internal,
    array_view as _array_view,  # registers the view of NDArray
    contrib,
    image,
    linalg,
    ndarray,
    op,
    random,
    sparse,
    utils,
)
from ._arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
from ._array_operators import array_module as _array_module
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
    to_dlpack_for_read,
    to_dlpack_for_write,
    zeros,
)
from ._eager import clear_eager_cache, eager_cache_info
from ._ndarray import NDArray, split_v2
from .params_file import load, load_frombuffer, save
from .pending import waitall

__all__ = [
    "NDArray",
    "add",
    "arange",
    "array",
    "clear_eager_cache",
    "concatenate",
    "contrib",
    "divide",
    "eager_cache_info",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "greater",
    "greater_equal",
    "histogram",
    "image",
    "lesser",
    "lesser_equal",
    "linalg",
    "linspace",
    "load",
    "load_frombuffer",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "ndarray",
    "not_equal",
    "onehot_encode",
    "ones",
    "op",
    "power",
    "random",
    "save",
    "sparse",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "utils",
    "waitall",
    "zeros",
]

__getattr__, __dir__ = _array_module(globals(), "op", NDArray)
