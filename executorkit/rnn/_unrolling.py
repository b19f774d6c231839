"""Sequences: one symbol with a time axis, or a list of one symbol per step."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import symbol as sym
from ..errors import ArgumentValueError
from ..symbol import Symbol

Sequential: TypeAlias = Symbol | Sequence[Symbol]

#: Attribute of the split into steps; MXNet writes 1, not True, into the graph.
SQUEEZE_AXIS: dict[str, Any] = {"squeeze_axis": 1}


def time_axis(layout: str) -> int:
    axis = layout.find("T")
    if axis < 0:
        raise ArgumentValueError("unroll: layout", f"{layout!r}, expected 'NTC' or 'TNC'")
    return axis


def as_steps(length: int, inputs: Sequential, layout: str) -> list[Symbol]:
    axis = time_axis(layout)
    if not isinstance(inputs, Symbol):
        return _checked_steps(length, inputs)
    if len(inputs.list_outputs()) != 1:
        problem = f"a symbol of {len(inputs.list_outputs())} outputs, expected one sequence"
        hint = "list(inputs), if each output is a step"
        raise ArgumentValueError("unroll: inputs", problem, hint=hint)
    return list(sym.split(inputs, axis=axis, num_outputs=length, **SQUEEZE_AXIS))


def as_symbol(length: int, inputs: Sequential, layout: str) -> Symbol:
    axis = time_axis(layout)
    if isinstance(inputs, Symbol):
        return inputs
    steps = [sym.expand_dims(step, axis=axis) for step in _checked_steps(length, inputs)]
    return sym.Concat(*steps, dim=axis)


def merge_or_split(length: int, inputs: Sequential, layout: str, merge: bool | None) -> Sequential:
    """Converts a sequence to one symbol (True), to a list (False), or not (None)."""
    if merge is None:
        return inputs if isinstance(inputs, Symbol) else _checked_steps(length, inputs)
    return as_symbol(length, inputs, layout) if merge else as_steps(length, inputs, layout)


def _checked_steps(length: int, steps: Sequence[Symbol] | None) -> list[Symbol]:
    symbols = [] if steps is None else list(steps)
    if len(symbols) != length:
        what = "None" if steps is None else f"{len(symbols)} symbols"
        raise ArgumentValueError("unroll: inputs", f"{what}, expected {length}, one for each step")
    return symbols
