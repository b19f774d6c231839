"""``mx.sym``: the symbolic interface.

Every operator is a function in here or in one of the modules ``contrib``, ``linalg``, ``random``,
``image`` and ``_internal``, made when it is first looked up.
"""

from importlib import import_module
from typing import Any

from . import (
    _internal,
    contrib,
    image,
    linalg,
    op,
    random,
    sparse,
    symbol,
    symbol_view as symbol_view,  # registers the view of Symbol
)
from ._coverage import Coverage, coverage
from ._symbol import Symbol
from ._symbol_creation import (
    Group,
    Variable,
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    load,
    load_json,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    var,
    zeros,
)
from ._symbol_functions import symbol_module

__all__ = [
    "Coverage", "Group", "Symbol", "Variable", "_internal", "arange", "contrib", "coverage", "eye",
    "full", "histogram", "hypot", "image", "linalg", "linspace", "load", "load_json", "maximum",
    "minimum", "ones", "op", "pow", "power", "random", "sparse", "split_v2", "symbol", "var",
    "zeros",
]  # fmt: skip

_get_operator, __dir__ = symbol_module(globals(), "op")


def __getattr__(name: str) -> Any:
    package = __name__.partition(".")[0]
    if name in ("np", "numpy"):
        return import_module(f"{package}.numpy.symbolic")
    if name in ("npx", "numpy_extension"):
        return import_module(f"{package}.numpy_extension")
    return _get_operator(name)
