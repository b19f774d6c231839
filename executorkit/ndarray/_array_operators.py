"""Operators called on arrays as a user writes it: ``mx.nd.X(...)`` and ``x.X(...)``."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_
from typing import Any

from .._support.annotations import Function
from ..arrays.handle import Handle
from ..calls.resolved_calls import DYNAMIC, ResolvedCall, parse_attrs, with_constants
from ..calls.ways import invoke, run
from ..errors import InputTypeError, MXNetError, shorten
from ..ops import OpDef
from ..ops.schema.call_rules import call_rules
from ..ops.schema.calls import bind_call
from ..ops.schema.operator_modules import OPERATOR_METHODS, operator_method, operator_module
from ._cast_calls import changed_call

_METHODS = tuple(n for n in (*OPERATOR_METHODS, "diag") if n != "broadcast_like")


def call_operator(
    cls: type[Handle] | None,
    op: OpDef,
    func_name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Runs an operator with the arguments of a call of ``func_name``; results are of class ``cls``,
    or for an array of ``mx.np`` (or None) of its class."""
    if call_rules.rule is not None:
        args, kwargs = changed_call(call_rules.rule, op, args, kwargs)
    key = _call_key(op, args, kwargs)
    resolved = _resolved_calls.get(key)
    if resolved is not None:
        return run(resolved, _class_of(cls, args), args)
    arrays, attrs, out, ctx = _sorted(op, func_name, args, kwargs)
    result = invoke(op, _class_of(cls, arrays), arrays, attrs, out, ctx)
    in_order = len(arrays) == len(args) and all(map(is_, arrays, args))
    if key is not None and in_order and attrs.keys().isdisjoint(DYNAMIC):
        if len(_resolved_calls) >= _RESOLVED_LIMIT:
            _resolved_calls.clear()
        _resolved_calls[key] = with_constants(op, attrs)
    return result


def _class_of(cls: type[Handle] | None, arrays: Sequence[Handle]) -> type[Handle]:
    for x in arrays:
        if x.has_scalars or cls is None:
            return type(x)
    return cls or Handle


#: Resolved calls on arrays alone, with plain attributes, by :func:`_call_key`.
_resolved_calls: dict[Any, ResolvedCall] = {}
_RESOLVED_LIMIT = 4096
#: Types of attributes whose values are their own keys, if the type is known too.
_PLAIN_TYPES = frozenset({int, bool, str, float, type(None)})


def _call_key(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns a key of everything in a call but its arrays' contents; None unless it is a call of
    arrays, with numbers, texts and shapes as attributes."""
    if not args:
        return None
    for x in args:
        if not isinstance(x, Handle):
            return None
    if not kwargs:
        return op, len(args)
    if "ctx" in kwargs:
        return None
    kinds: list[Any] = [*map(type, kwargs.values())]
    if not _PLAIN_TYPES.issuperset(kinds):
        for k, value in enumerate(kwargs.values()):
            if kinds[k] is tuple:
                elements = {*map(type, value)}
                if not elements <= {int} and elements != {float}:
                    return None
                kinds[k] = (tuple, *elements)
            elif kinds[k] not in _PLAIN_TYPES:
                return None
    return op, len(args), *kwargs, *kwargs.values(), *kinds


def _sorted(
    op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], Any, Any]:
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
            arrays += _in_order(op, named, op.inputs(parse_attrs(op, attrs))[len(arrays) :])
        if not arrays and op.count is not None:
            raise MXNetError(f"operator {op.name}", "it is given no arrays")
    elif len(call.named) == len(op.array_names):
        arrays = [call.named[name] for name in op.array_names]
    else:
        names = op.inputs(parse_attrs(op, attrs))
        arrays = [call.named[n] for n in op.array_names if n in call.named]
        if len(arrays) != len(names):  # as many as are taken stand for them in their order
            arrays = _in_order(op, call.named, names)
    for i, x in enumerate(arrays):
        if not isinstance(x, Handle):
            problem = f"array {i}" if op.variadic is not None else repr(op.array_names[i])
            raise _not_an_array(op, problem, x)
    return arrays, attrs, out, ctx


def _not_an_array(op: OpDef, name: str, value: Any) -> InputTypeError:
    hint = "mx.nd.array(...)"
    if isinstance(value, list | tuple) and any(isinstance(x, Handle) for x in value):
        what = f"a {type(value).__name__} of {len(value)} arrays"
        hint = "the arrays one by one: *arrays"
    else:
        what = f"{shorten(repr(value))} ({type(value).__name__})"
    problem = f"{name} is {what}, expected an NDArray"
    return InputTypeError(f"operator {op.name}", problem, hint=hint)


def _in_order(op: OpDef, named: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    """Returns arrays in the operator's order; MXNetError for wrong names and arguments."""
    for name, value in named.items():
        if not isinstance(value, Handle):
            raise _not_an_array(op, repr(name), value)
    missing = [n for n in names if n not in named]
    surplus = [n for n in named if n not in names]
    if missing or surplus:
        raise MXNetError(
            f"operator {op.name}",
            " and ".join(
                [f"input {n!r} is not given" for n in missing]
                + [f"input {n!r} is not taken" for n in surplus]
            ),
            hint=f"with these attributes it takes {', '.join(names) or 'no arrays'}",
        )
    return [named[n] for n in names]


def array_module(
    namespace: dict[str, Any], module: str, cls: type[Handle]
) -> tuple[Callable[[str], Function], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a module of operators on arrays of a class."""
    return operator_module(namespace, module, "ndarray", partial(call_operator, cls))


def operator_methods() -> dict[str, Function]:
    call = partial(call_operator, None)
    return {name: operator_method(name, "ndarray", "NDArray", call) for name in _METHODS}
