"""Operators of MXNet and of ONNX that are one another: tables for both directions."""

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Functions of one array.
UNARY = {
    "abs": "Abs", "negative": "Neg", "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh",
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
    "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "erf": "Erf",
    "softsign": "Softsign", "ceil": "Ceil", "floor": "Floor", "sign": "Sign",
    "reciprocal": "Reciprocal",
}  # fmt: skip
#: Arithmetic of two arrays that broadcast (``broadcast_add``), comparisons, and logic.
ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "power": "Pow"}
COMPARISONS = {
    "equal": "Equal", "lesser": "Less", "greater": "Greater", "lesser_equal": "LessOrEqual",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip
LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
EXTREMES = {"maximum": "Max", "minimum": "Min"}
#: Reductions over axes: ``ReduceSum`` and so on.
REDUCTIONS = {"sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod"}


class SharedLayer(NamedTuple):
    """A layer with equal inputs in both: MXNet's operator, ONNX's names and defaults."""

    operator: str
    attrs: Mapping[str, tuple[str, Any]]


#: Layers by ONNX's operator.
LAYERS = {
    "HardSigmoid": SharedLayer("hard_sigmoid", {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)}),
    "InstanceNormalization": SharedLayer("InstanceNorm", {"eps": ("epsilon", 1e-5)}),
    "LRN": SharedLayer(
        "LRN",
        {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "knorm": ("bias", 1.0),
         "nsize": ("size", None)},
    ),
    "MaxRoiPool": SharedLayer(
        "ROIPooling",
        {"pooled_size": ("pooled_shape", None), "spatial_scale": ("spatial_scale", 1.0)},
    ),
}  # fmt: skip


def by_onnx_name(table: Mapping[str, str]) -> dict[str, str]:
    return {theirs: ours for ours, theirs in table.items()}
