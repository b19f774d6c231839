"""MXNet's mutable array over ``jax.Array``, and every operator called eagerly on it.

``mx.nd.X`` of an operator is made when it is looked up, with a true signature and docstring.
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

from ..arrays.pending import waitall as waitall
from ..calls.ways import (
    clear_eager_cache as clear_eager_cache,
    eager_cache_info as eager_cache_info,
)
from . import (
    _internal as _internal,
    array_view as _array_view,  # registers the view of NDArray
    contrib as contrib,
    image as image,
    linalg as linalg,
    ndarray as ndarray,
    op as op,
    random as random,
    sparse as sparse,
    utils as utils,
)
from ._arithmetic import (
    add as add,
    divide as divide,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    lesser as lesser,
    lesser_equal as lesser_equal,
    logical_and as logical_and,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    modulo as modulo,
    multiply as multiply,
    not_equal as not_equal,
    power as power,
    subtract as subtract,
    true_divide as true_divide,
)
from ._array_operators import array_module as _array_module
from ._creation import (
    arange as arange,
    array as array,
    concatenate as concatenate,
    empty as empty,
    eye as eye,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    full as full,
    histogram as histogram,
    linspace as linspace,
    moveaxis as moveaxis,
    onehot_encode as onehot_encode,
    ones as ones,
    to_dlpack_for_read as to_dlpack_for_read,
    to_dlpack_for_write as to_dlpack_for_write,
    zeros as zeros,
)
from ._ndarray import NDArray as NDArray, split_v2 as split_v2
from .params_file import load as load, load_frombuffer as load_frombuffer, save as save

#: All names from above, and MXNet's modules.
__all__ = [  # pyright: ignore
    *(n for n, v in list(globals().items()) if n[0] != "_" and not isinstance(v, _ModuleType)),
    *("contrib", "image", "linalg", "ndarray", "op", "random", "sparse", "utils"),
]

_get_operator, __dir__ = _array_module(globals(), "op", NDArray)


def __getattr__(name: str) -> _Any:
    if name in ("np", "npx", "numpy", "numpy_extension"):  # F.np and F.npx in hybrid_forward
        return getattr(_import_module(__name__.partition(".")[0]), name)
    return _get_operator(name)
