"""Operators as methods: ``x.sum(axis=1)`` is ``mx.nd.sum(x, axis=1)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..ops import OpDef, lookup
from ..ops._namespace import call_doc, call_signature
from ._call import call_operator
from ._handle import Handle

_METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "cbrt", "ceil",
    "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp", "expand_dims", "expm1",
    "fix", "flatten", "flip", "floor", "log", "log10", "log1p", "log2", "log_softmax", "max",
    "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod",
    "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like", "rint", "round",
    "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice",
    "slice_axis", "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt",
    "square", "squeeze", "sum", "swapaxes", "take", "tan", "tanh", "tile", "topk", "transpose",
    "trunc", "zeros_like",
)  # fmt: skip


def _method(op: OpDef, name: str) -> Callable[..., Any]:
    def method(self: Handle, *args: Any, **kwargs: Any) -> Any:
        return call_operator(op, type(self), name, (self, *args), kwargs)

    signature = call_signature(op, "ndarray")
    _, *rest = signature.parameters.values()
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(parameters=[itself, *rest])  # type: ignore[attr-defined]
    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__doc__ = f"``mx.nd.{name}`` of this array.\n\n{call_doc(op, 'ndarray')}"
    return method


def fluent_methods() -> dict[str, Callable[..., Any]]:
    """The methods by name, of the operators that there are."""
    found = {name: lookup(name) for name in _METHODS}
    return {name: _method(op, name) for name, op in found.items() if op is not None}


#: The base class that carries the methods.
Fluent = type("Fluent", (Handle,), {"__slots__": (), "__doc__": __doc__, **fluent_methods()})
