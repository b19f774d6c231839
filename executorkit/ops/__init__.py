"""Operators, a folder per theme; ``schema`` says what an operator is.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (  # noqa: F401 - importing a theme registers its operators
    control_flow,
    custom,
    nn,
    optimizer_updates,
    quantized,
    random,
    tensor,
    vision,
)
from .schema.inference import Params
from .schema.operator_registry import OpDef, all_names, all_ops, lookup, register

__all__ = ["OpDef", "Params", "all_names", "all_ops", "lookup", "register"]
