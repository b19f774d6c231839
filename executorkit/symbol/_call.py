"""A call of ``mx.sym.X``: its arguments sorted, its name and annotations found, its node made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputTypeError, MXNetError, UnknownOperatorError, explain
from ..ops import OpDef, lookup
from ..ops._namespace import bind_call
from ._compose import compose, texts
from ._naming import AttrScope, NameManager
from ._node import Entry
from ._operators import PythonOperators


def find(name: str) -> OpDef:
    """The operator ``name``; :class:`UnknownOperatorError` if it is not served."""
    op = lookup(name)
    if op is None:
        raise UnknownOperatorError(f"operator {name!r} is not served")
    return op


def entry_of(value: Any, name: str) -> Entry:
    """The one output of a symbol that is to be the input ``name``."""
    if not isinstance(value, PythonOperators):
        shape = getattr(value, "shape", None)
        found = repr(value) if shape is None else f"an array of shape {shape}"
        hint = "wrap it in mx.sym.Variable"
        if shape is not None:
            hint = f"mx.sym.Variable({name!r}), and the array where you bind or call forward"
        problem = f"{name!r} is {found}, expected a Symbol"
        raise InputTypeError(explain("symbol input", problem, hint=hint))
    if len(value.heads) != 1:
        problem = f"{name!r} is {value!r}, which has {len(value.heads)} outputs, expected one"
        raise MXNetError(explain("symbol input", problem, hint="choose one, as in symbol[0]"))
    return value.heads[0]


def call(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Entry]:
    """The visible outputs of a new node of ``op``, called as ``func_name``.

    Annotations come from the call, then from the current AttrScope, then from ``attr``; later ones
    win, and the operator's own attributes over all.
    """
    sorted_call = bind_call(op, "symbol", func_name, args, kwargs)
    positional = [entry_of(value, f"arg{i}") for i, value in enumerate(sorted_call.arrays)]
    named = {key: entry_of(value, key) for key, value in sorted_call.named.items()}
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in sorted_call.attrs.items():
        if isinstance(value, PythonOperators):
            named[key] = entry_of(value, key)
        else:
            (known if key in op.attrs else extra)[key] = value
    if positional and named:
        raise TypeError(f"{func_name}() takes inputs by position or by keyword, not both")
    options = sorted_call.options
    name = NameManager.current.get(options.get("name"), func_name.lower())
    scope = AttrScope.current.get(options.get("attr"))
    node = compose(op, name, texts({**extra, **scope, **known}), positional, named)
    return [(node, i) for i in range(node.n_visible)]
