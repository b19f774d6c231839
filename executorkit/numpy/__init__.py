"""``mx.np``: NumPy's functions on arrays of MXNet, which are recorded, differentiated and compiled.

Many are one operator each (``_table``), others are composed (``_composed_functions``), and for the
rest NumPy computes on copies (``fallback``). What MXNet does not have is not here.
"""

import types as _types
from typing import Any

import numpy as _numpy

from . import _composed_functions, _new_arrays, linalg as linalg, random as random
from ._names import absent_function as _absent_function
from ._table import FUNCTIONS as _FUNCTIONS
from ._ufuncs import UFUNCS as _UFUNCS
from .fallback import FALLBACKS as _FALLBACKS
from .multiarray import ndarray as ndarray


def _public(module: _types.ModuleType) -> dict[str, Any]:
    functions = vars(module).items()
    return {
        name: value
        for name, value in functions
        if callable(value)
        and name[0] != "_"
        and getattr(value, "__module__", "") == module.__name__
    }


globals().update(
    _FALLBACKS | _UFUNCS | _FUNCTIONS | _public(_composed_functions) | _public(_new_arrays)
)
for _name in ("det", "norm", "pinv", "slogdet", "arr_like", "context_of", "dims_of", "sizes_of"):
    globals().pop(_name, None)

set_printoptions = _numpy.set_printoptions
finfo = _numpy.finfo

float16, float32, float64 = _numpy.float16, _numpy.float32, _numpy.float64
int8, int32, int64, uint8 = _numpy.int8, _numpy.int32, _numpy.int64, _numpy.uint8
bool_ = _numpy.bool_
bool = bool

pi, e, inf, nan = _numpy.pi, _numpy.e, _numpy.inf, _numpy.nan
PINF, NINF, PZERO, NZERO, NAN, NaN = inf, -inf, 0.0, -0.0, nan, nan
newaxis = None


def __getattr__(name: str) -> Any:
    raise AttributeError(_absent_function(__name__, name))
