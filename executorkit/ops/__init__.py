"""Operators, a folder per theme; ``schema`` defines what an operator is.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (
    control_flow,
    custom,
    nn,
    optimizer_updates,
    quantized,
    random,
    tensor,
    vision,
)
from .schema.inference import Params, ShapeFacts, TypeFacts, is_fully_known
from .schema.operator_registry import FileFormat, OpDef, all_names, all_ops, lookup, register

__all__ = [
    "FileFormat",
    "OpDef",
    "Params",
    "ShapeFacts",
    "TypeFacts",
    "all_names",
    "all_ops",
    "control_flow",
    "custom",
    "is_fully_known",
    "lookup",
    "nn",
    "optimizer_updates",
    "quantized",
    "random",
    "register",
    "tensor",
    "vision",
]
