"""Operators: what one is (``_registry``), and every operator, a file per family.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (
    F401,
    broadcast,
    cast,
    conv,
    dense,
    elemwise,
    gather,
    importing,
    indexing,
    init,
    join,
    layout,
    loss,
    noqa,
    ordering,
    piecewise,
    pool,
    random,
    reduce,
    registers,
    rnn,
    scalar,
    sequence,
    shape,
    slicing,
    tiling,
    vision,
)
from ._registry import OpDef, Params, all_names, all_ops, lookup, register

__all__ = ["OpDef", "Params", "all_names", "all_ops", "lookup", "register"]
