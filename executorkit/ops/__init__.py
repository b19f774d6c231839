"""Operators: what one is (``_registry``), and every operator, a file per family.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (  # noqa: F401 - importing a family registers it
    broadcast,
    cast,
    conv,
    dense,
    elemwise,
    gather,
    indexing,
    init,
    join,
    layout,
    loss,
    ordering,
    piecewise,
    pool,
    random,
    reduce,
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
