"""Element-wise functions of ``mx.np``; of numbers they are NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.schema.operator_registry import named
from .utils import Binary, check_options, unary

#: Functions of one array, by the operator behind ``_npi_`` where that has another name.
_UNARY = {
    name: name
    for name in (
        "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil",
        "cos", "cosh", "degrees", "exp", "expm1", "fix", "floor", "isfinite", "isinf", "isnan",
        "isneginf", "isposinf", "log", "log10", "log1p", "log2", "logical_not", "negative",
        "radians", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
        "trunc",
    )
} | {
    "abs": "absolute", "fabs": "absolute", "bitwise_not": "bitwise_not", "invert": "bitwise_not",
    "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip

#: Functions of two: whether the reflected form has an operator of its own, or that form's name.
_BINARY: dict[str, bool | str] = {
    "add": False, "subtract": True, "multiply": False, "true_divide": True, "mod": True,
    "power": True, "copysign": True, "arctan2": True, "hypot": False, "ldexp": True, "lcm": False,
    "bitwise_and": False, "bitwise_or": False, "bitwise_xor": False, "maximum": False,
    "minimum": False, "equal": False, "not_equal": False, "greater": "less",
    "greater_equal": "less_equal", "less": "greater", "less_equal": "greater_equal",
}  # fmt: skip


def _binary(name: str) -> Binary:
    kind = _BINARY[name]
    reverse = kind if isinstance(kind, str) else f"{'r' if kind else ''}{name}"
    scalar = f"_npi_{name}_scalar"
    return Binary(name, f"_npi_{name}", scalar, f"_npi_{reverse}_scalar", getattr(np, name))


BINARY = {name: _binary(name) for name in _BINARY}


def _function(name: str, binary: Binary) -> Callable[..., Any]:
    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            check_options(name, kwargs)
        return binary(x1, x2, out)

    doc = f"Computes ``numpy.{name}`` of arrays that broadcast, or numbers: ``x1``, ``x2``."
    return named(function, name, f"{doc} Writes it to ``out``, if that is given.")


UFUNCS: dict[str, Callable[..., Any]] = {
    name: unary(name, f"_npi_{op_name}", getattr(np, name)) for name, op_name in _UNARY.items()
} | {name: _function(name, binary) for name, binary in BINARY.items()}
UFUNCS["divide"] = UFUNCS["true_divide"]
UFUNCS["remainder"] = UFUNCS["mod"]
