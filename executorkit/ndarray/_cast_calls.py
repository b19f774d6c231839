"""Calls on arrays as a rule changes them: inputs are cast by ``amp_cast``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..arrays.handle import Handle
from ..calls.recording import modes
from ..calls.resolved_calls import ResolvedCall, call_of
from ..calls.ways import run
from ..ops import OpDef
from ..ops.schema.call_rules import CAST_TYPES, WIDEST, CallRule

#: Types from narrow to wide, as ``amp_multicast`` has them.
_BY_WIDTH = ("bfloat16", "float16", "float32")


def changed_call(
    rule: CallRule, op: OpDef, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    attrs = dict(rule.array_attrs(op, kwargs))
    dtype = rule.input_type(op, attrs)
    if dtype is None:
        return args, attrs
    names = op.array_names if op.variadic is None else ()
    kept = {*op.aux, "out"}
    places = [i for i in range(len(args)) if not (i < len(names) and names[i] in kept)]
    keys = [key for key in attrs if key not in kept]
    values = cast_arrays(dtype, [*(args[i] for i in places), *(attrs[key] for key in keys)])
    changed = list(args)
    for i, value in zip(places, values, strict=False):
        changed[i] = value
    attrs.update(zip(keys, values[len(places) :], strict=True))
    return tuple(changed), attrs


def cast_arrays(dtype: str, values: Sequence[Any]) -> list[Any]:
    types = {x.dtype_name for x in values if isinstance(x, Handle)} & CAST_TYPES
    if dtype == WIDEST:
        dtype = max(types, key=_BY_WIDTH.index, default=WIDEST)
    if types <= {dtype}:
        return list(values)
    arrays = [x for x in values if isinstance(x, Handle)]
    # Casts of inputs without a graph are part of the program that reads them.
    recorded = modes.recording and modes.recorder.takes(arrays, None)
    return [_cast(x, dtype, recorded) if isinstance(x, Handle) else x for x in values]


def _cast(array: Handle, dtype: str, recorded: bool) -> Any:
    if array.dtype_name == dtype or array.dtype_name not in CAST_TYPES:
        return array
    if recorded:
        return modes.recorder.record(_cast_to(dtype), type(array), (array,))
    return run(_cast_to(dtype), type(array), (array,))


@cache
def _cast_to(dtype: str) -> ResolvedCall:
    return call_of("amp_cast", {"dtype": dtype})
