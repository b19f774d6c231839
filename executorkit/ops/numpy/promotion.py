"""Registration of the operators of ``mx.np``, and the element types of their results."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..schema.inference import InferType, Params, TypeFacts
from ..schema.operator_registry import NUMPY_OPS, register

_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_RANKS = {"bool": 0, "int8": 1, "uint8": 1, "int32": 2, "int64": 3}

#: ``register`` for the names of ``mx.np``.
numpy_operator = partial(register, table=NUMPY_OPS)


def promote(first: str, second: str) -> str:
    """Returns the type of a sum: a floating type before integers, the wider of two; int32 for int8
    and uint8.

    >>> promote("int64", "float16"), promote("int8", "uint8"), promote("bool", "uint8")
    ('float16', 'int32', 'uint8')
    """
    if first == second:
        return first
    for sizes in (_SIZES, _RANKS):
        known = [t for t in (first, second) if t in sizes]
        if len(known) == 2 and sizes[first] == sizes[second]:
            return "int32"
        if known:
            return max(known, key=sizes.__getitem__)
    return first


def quotient_type(first: str, second: str) -> str:
    dtype = promote(first, second)
    return dtype if dtype in _SIZES else "float32"


def typed(result: Callable[..., str]) -> InferType:
    """Returns the rule that all outputs have the type ``result(*types of the inputs)``. An unknown
    type of an input is taken from the first input with a known one."""

    def rule(t: TypeFacts, p: Params) -> None:
        names = [name for name in t if not name.startswith("out")]
        known = next((t[n] for n in names if t[n] is not None), None)
        if known is None:
            return
        for name in names:
            t.set(name, t[name] or known)
        dtype = result(*(t[name] for name in names))
        for name in tuple(t):
            if name.startswith("out"):
                t.set(name, dtype)

    return rule


def reduced_type(dtype: str, *_: str) -> str:
    return "int64" if dtype == "bool" else dtype


def averaged_type(dtype: str, *_: str) -> str:
    return dtype if dtype in _SIZES else "float32"


def first_type(dtype: str, *_: str) -> str:
    return dtype


def attribute_or(result: Callable[..., str]) -> InferType:
    """The type is the attribute ``dtype``, if there is one, otherwise ``result`` of the inputs."""
    rule = typed(result)

    def typed_by_attribute(t: TypeFacts, p: Params) -> None:
        if p.dtype is None:
            rule(t, p)
        else:
            t.set("out0", p.dtype)

    return typed_by_attribute


def outputs_typed(**dtypes: Any) -> InferType:
    """Returns the rule that outputs have the named types, or for None the first input's."""

    def rule(t: TypeFacts, p: Params) -> None:
        first = t[next(iter(t))]
        for name, dtype in dtypes.items():
            t.set(name, dtype or first)

    return rule
