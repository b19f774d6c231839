"""Operators: what one is (``_registry``), and every operator, a file per family.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (
    broadcast,
    cast,
    dense,
    elemwise,
    init,
    join,
    layout,
    loss,
    piecewise,
    reduce,
    rnn,
    scalar,
    shape,
    slicing,
    tiling,
)
from ._registry import OpDef, Params, all_names, all_ops, lookup, register

__all__ = ["OpDef", "Params", "all_names", "all_ops", "lookup", "register"]
