"""Plain blocks under ``autograd.record()``: what one has recorded is recorded by one look-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from ..calls.recording import modes
from ..ndarray import NDArray
from ..ops.schema.call_rules import call_rules
from ._parameter import Parameter
from ._traced_graph import has_own_data, single_arrays

_CLASS, _CONTEXT = attrgetter("__class__"), attrgetter("context")
#: Facts that calls follow from, beside arguments and parameters: of each class, and of each block.
_FUNCTIONS = attrgetter("hybrid_forward", "forward", "__call__")
_STATE = attrgetter(
    "_version", "_children", "_reg_params", "_kwargs", "_forward_hooks", "_forward_pre_hooks"
)
#: The modules whose functions make a block plain, unless it says otherwise.
_MODULES = tuple(f"{__package__}.{name}" for name in ("nn", "loss", "_hybrid_block", "_block"))


def record_plain(block: Any, args: Sequence[Any], compute: Callable[..., Any]) -> Any:
    """Returns ``compute(*args)`` of a block, and notes what that records. Later calls record it at
    once, while nothing has changed and all of it would be recorded."""
    output = NotImplemented if block._plain_call is None else block._plain_call(args)
    if output is NotImplemented:
        return _watched(block, args, compute)
    return compute(*args) if output is None else output


def _watched(block: Any, args: Sequence[Any], compute: Callable[..., Any]) -> Any:
    blocks = _plain_blocks(block) if call_rules.rule is None else []
    parameters = [*dict.fromkeys(p for b in blocks for p in b._reg_params.values())]
    is_known = bool(blocks) and not has_own_data(parameters)
    arrays = _arrays(args, parameters) if is_known else None
    if arrays is None:
        return compute(*args)
    output, call = modes.recorder.watch(arrays, lambda: compute(*args))
    classes = {*map(_CLASS, blocks)}
    functions = [*map(_FUNCTIONS, classes)]
    states = [tuple({**x} if isinstance(x, dict) else x for x in _STATE(b)) for b in blocks]

    def record(args: Sequence[Any]) -> Any:
        if [*map(_STATE, blocks)] != states or [*map(_FUNCTIONS, classes)] != functions:
            return NotImplemented
        arrays = _arrays(args, parameters) if call and call_rules.rule is None else None
        if not arrays or len(arrays) != len(call.inputs) or not modes.recorder.takes(arrays, None):
            return None
        return modes.recorder.record_graph(call, NDArray, arrays, lambda: None)[0]

    vars(block)["_plain_call"] = record
    return output


def _plain_blocks(block: Any) -> list[Any]:
    """Returns a block and all below it, or nothing if one of them is not plain."""
    blocks = [block]
    for b in blocks:
        functions, hooks = _FUNCTIONS(b.__class__), b._forward_hooks or b._forward_pre_hooks
        known = all(f"{function.__module__}".startswith(_MODULES) for function in functions)
        if not known or not b._is_plain or b._active or not b._input_shapes:
            return []
        if (hooks and b is not block) or {"forward", "hybrid_forward"} & vars(b).keys():
            return []
        blocks += b._children.values()
    return blocks


def _arrays(args: Sequence[Any], parameters: Sequence[Parameter]) -> list[NDArray] | None:
    """Returns the arguments and the parameters' arrays, if they are distinct and of one context."""
    if {*map(_CLASS, args)} != {NDArray} or len({*map(id, map(_CONTEXT, args))}) > 1:
        return None
    arrays = [*args, *(single_arrays(parameters, args[0].context) or ())]
    is_whole = len(arrays) == len(args) + len(parameters)
    return arrays if is_whole and len({*arrays}) == len(arrays) else None
