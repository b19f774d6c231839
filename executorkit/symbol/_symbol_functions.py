"""``mx.sym.X`` for every operator: a function with the operator's signature and docstring.

Functions are made when they are first asked for, so that an operator that is registered later, by
a user, is there as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import similar_names
from ..ops import OpDef, lookup
from ..ops.schema.calls import PREFIXES, call_doc, call_signature, namespace_entries, public_names
from ..ops.schema.unsupported import unsupported_reason
from ._symbol import Symbol, call_operator

_PREFIX_OF = {module: prefix for prefix, module in PREFIXES.items()}


def make_function(op: OpDef, module: str, name: str) -> Callable[..., Symbol]:
    """The function that composes ``op``, as it stands in ``mx.sym`` under ``name``."""

    def function(*args: Any, **kwargs: Any) -> Symbol:
        return call_operator(op, name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = call_doc(op, "symbol")
    function.__signature__ = call_signature(op, "symbol")  # type: ignore[attr-defined]
    return function


def _unknown(module: str, name: str, full: str, known: list[str]) -> str:
    """Why a module has no such attribute, as far as names tell."""
    problem = f"module {module!r} has no attribute {name!r}"
    reason = None if name.startswith("_") else unsupported_reason(full)
    if reason:
        return f"{problem}\n  because it is not served: {reason}"
    close = "" if name.startswith("_") else similar_names(name, known)
    return f"{problem}\n  try: {close}" if close else problem


def operators_of(
    namespace: dict[str, Any], module: str
) -> tuple[Callable[[str], Callable[..., Symbol]], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a Python module that holds the operators of ``module``.

    ``namespace`` is the Python module's own, whose names come first.
    """

    def get(name: str) -> Callable[..., Symbol]:
        full = _PREFIX_OF.get(module, "") + name
        op = lookup(full)
        if op is None or (module, name) not in public_names(full):
            raise AttributeError(_unknown(namespace["__name__"], name, full, names()))
        function = namespace[name] = make_function(op, namespace["__name__"], name)
        return function

    def names() -> list[str]:
        found = {name for place, name, _ in namespace_entries() if place == module}
        return sorted(found | {name for name in namespace if not name.startswith("_")})

    return get, names
