"""Operators: what one is (``_registry``), and every operator, a file per family.

``register`` is public: a user adds a missing operator in three lines.
"""

# ruff: noqa: F401 - importing a family registers it
from . import (
    activation,
    adaptive,
    batch_norm,
    box,
    broadcast,
    cast,
    classification,
    conv,
    correlation,
    ctc,
    custom,
    deconv,
    dense,
    detection,
    dropout,
    elemwise,
    gather,
    indexing,
    init,
    join,
    lamb,
    layout,
    linalg,
    loss,
    matmul,
    norm,
    ordering,
    piecewise,
    pool,
    random,
    reduce,
    resize,
    rnn,
    scalar,
    sequence,
    sgd,
    shape,
    slicing,
    softmax,
    tiling,
    triangles,
    vision,
)
from ._registry import OpDef, Params, all_names, all_ops, lookup, register

__all__ = ["OpDef", "Params", "all_names", "all_ops", "lookup", "register"]
