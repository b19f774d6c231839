"""A call of an operator as a user writes it: arrays and attributes by position or by name.

``find`` and :func:`operator_function` make ``mx.nd.X`` when it is first looked up, so that
operators registered later, by a user too, are there.

Operators as methods: ``x.sum(axis=1)`` is ``mx.nd.sum(x, axis=1)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ..errors import InputTypeError, MXNetError, explain
from ..ops import OpDef, lookup
from ..ops.schema.calls import (
    PREFIXES,
    bind_call,
    call_doc,
    call_signature,
    namespace_entries,
    public_names,
)
from ._eager import invoke, parse_attrs
from ._handle import Handle

_PREFIX_OF = {module: prefix for prefix, module in PREFIXES.items()}


def call_operator(
    op: OpDef, cls: type[Handle], func_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Sorts the arguments of a call and runs the operator; results are of class ``cls``."""
    call = bind_call(op, "ndarray", func_name, args, kwargs)
    attrs = call.attrs
    out = call.options.get("out")
    ctx = attrs.pop("ctx", None) if "ctx" in op.attrs else None
    if op.variadic is not None:
        named = {k: attrs.pop(k) for k, v in tuple(attrs.items()) if isinstance(v, Handle)}
        if op.count is not None:
            attrs.setdefault(op.count, len(call.arrays) + len(named))
        arrays = [*call.arrays]
        if named:
            names = op.inputs(parse_attrs(op, attrs))[len(arrays) :]
            arrays += _by_name(op, named, names)
        if not arrays:
            raise MXNetError(explain(f"operator {op.name}", "it is given no arrays"))
    elif len(call.named) == len(op.array_names):
        arrays = [call.named[name] for name in op.array_names]
    else:
        arrays = _by_name(op, call.named, op.inputs(parse_attrs(op, attrs)))
    for i, x in enumerate(arrays):
        if not isinstance(x, Handle):
            name = f"array {i}" if op.variadic is not None else repr(op.array_names[i])
            raise InputTypeError(
                explain(
                    f"operator {op.name}",
                    f"{name} is {x!r} ({type(x).__name__}), expected an NDArray",
                    hint="mx.nd.array(...)",
                )
            )
    return invoke(op, cls, arrays, attrs, out, ctx)


def _by_name(op: OpDef, named: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    missing = [n for n in names if n not in named]
    surplus = [n for n in named if n not in names]
    if missing or surplus:
        raise MXNetError(
            explain(
                f"operator {op.name}",
                " and ".join(
                    [f"input {n!r} is not given" for n in missing]
                    + [f"input {n!r} is not taken" for n in surplus]
                ),
                hint=f"with these attributes it takes {', '.join(names) or 'no arrays'}",
            )
        )
    return [named[n] for n in names]


def find(module: str, public: str) -> OpDef | None:
    """The operator that stands as ``public`` in a module of operators ('op', 'linalg', ...)."""
    name = _PREFIX_OF.get(module, "") + public
    op = lookup(name)
    return op if op is not None and (module, public) in public_names(name) else None


@lru_cache(maxsize=4096)
def operator_function(op: OpDef, cls: type[Handle], public: str) -> Callable[..., Any]:
    """``mx.nd.X``: the operator as a function with a true signature and docstring."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return call_operator(op, cls, public, args, kwargs)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = call_doc(op, "ndarray")
    function.__signature__ = call_signature(op, "ndarray")  # type: ignore[attr-defined]
    return function


def module_access(
    module: str, cls: type[Handle], where: str, own: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a Python module that holds a module of operators, and
    names of its ``own``."""

    def getattr_(name: str) -> Any:
        op = find(module, name)
        if op is None:
            raise AttributeError(f"module {where!r} has no attribute {name!r}")
        return operator_function(op, cls, name)

    def dir_() -> list[str]:
        return sorted({*own, *(n for m, n, _ in namespace_entries() if m == module)})

    return getattr_, dir_


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
