"""``mx.sym``: the symbolic interface.

Every operator is a function in here or in one of the modules ``contrib``, ``linalg``, ``random``,
``image`` and ``_internal``; see :mod:`executorkit.symbol._functions`.
"""

from . import _internal, contrib, image, linalg, op, random
from ._coverage import coverage
from ._creation import (
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
from ._functions import operators_of
from ._symbol import Symbol

__all__ = [
    "Group", "Symbol", "Variable", "_internal", "arange", "contrib", "coverage", "eye", "full",
    "histogram", "hypot", "image", "linalg", "linspace", "load", "load_json", "maximum", "minimum",
    "ones", "op", "pow", "power", "random", "split_v2", "var", "zeros",
]  # fmt: skip

__getattr__, __dir__ = operators_of(globals(), "op")
