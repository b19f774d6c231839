"""Operators, a folder per theme; ``schema`` defines what an operator is.

``register`` is public: a user adds a missing operator in three lines.
"""

from . import (
    control_flow as control_flow,
    custom as custom,
    nn as nn,
    optimizer_updates as optimizer_updates,
    quantized as quantized,
    random as random,
    tensor as tensor,
    vision as vision,
)
from .schema.inference import (
    Params as Params,
    ShapeFacts as ShapeFacts,
    TypeFacts as TypeFacts,
    is_fully_known as is_fully_known,
)
from .schema.operator_registry import (
    FileFormat as FileFormat,
    OpDef as OpDef,
    all_names as all_names,
    all_ops as all_ops,
    lookup as lookup,
    register as register,
)
