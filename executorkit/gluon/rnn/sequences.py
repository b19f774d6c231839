"""Sequences of arrays or symbols: one with a time axis, or a list with one for each step."""

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from ... import ndarray, symbol
from ...calls.resolved_calls import is_floating
from ...errors import ArgumentValueError
from ...ndarray import NDArray
from ...symbol import Symbol
from .._parameter import tensor_types
from .._types import States, Tensor


class Layout(NamedTuple):
    """Axes of a layout such as 'NTC': ``time`` of the sequence, ``batch`` of a step."""

    time: int
    batch: int

    @classmethod
    def of(cls, layout: str) -> "Layout":
        """Parses a layout; ArgumentValueError (AssertionError) without batch or time axis."""
        time, batch = layout.find("T"), layout.replace("T", "").find("N")
        if time < 0 or batch < 0:
            raise ArgumentValueError("unroll: layout", f"{layout!r}, expected 'NTC' or 'TNC'")
        return cls(time, batch)


def namespace_of(value: object) -> ModuleType:
    """Returns ``mx.sym`` for symbols, ``mx.nd`` for arrays."""
    return symbol if isinstance(value, Symbol) else ndarray


def check_inputs(length: int, inputs: Tensor, axis: int) -> None:
    """Raises ArgumentValueError, an AssertionError, unless ``inputs`` have this number of steps."""
    where = "unroll: inputs"
    if inputs is None:
        raise ArgumentValueError(where, "None, expected arrays or symbols")
    if isinstance(inputs, Symbol):
        count = len(inputs.list_outputs())
        if count > 1:
            problem = f"a symbol of {count} outputs, expected one sequence"
            raise ArgumentValueError(where, problem, hint="list(inputs), if each output is a step")
        return
    if isinstance(inputs, NDArray):
        if axis >= inputs.ndim:
            raise ArgumentValueError(where, f"{inputs.shape} has no time axis {axis}")
        steps = inputs.shape[axis]
    else:
        steps = len(inputs)
    if length is not None and steps != length:
        raise ArgumentValueError(where, f"there are {steps} steps, expected {length}")


def first_step(inputs: Tensor) -> Any:
    """Returns an array or symbol of ``inputs``."""
    return inputs if isinstance(inputs, tensor_types) else inputs[0]


def split(length: int, sequence: Tensor, axis: int, squeeze_axis: Any = 1) -> list[Any]:
    """Splits a sequence into a list. MXNet's graphs have ``squeeze_axis`` 1 here, True there."""
    split_into = namespace_of(sequence).split
    steps = split_into(sequence, axis=axis, num_outputs=length, squeeze_axis=squeeze_axis)
    return [steps] if isinstance(steps, NDArray) else list(steps)


def merge_or_split(length: int, inputs: Tensor, axis: int, merge: bool | None) -> Any:
    """Converts a sequence to one array or symbol (True), to a list (False), or not (None)."""
    is_merged = isinstance(inputs, tensor_types)
    if merge is None or merge == is_merged:
        return inputs if is_merged else list(inputs)
    if merge:
        return namespace_of(inputs[0]).stack(*inputs, axis=axis)
    return split(length, inputs, axis)


def first_states(cell: Any, states: States, inputs: Tensor, layout: Layout) -> Any:
    """Returns ``states``, or by default ``cell.begin_state`` for these inputs; arrays are zeros in
    the dtype of the inputs (MXNet: float32)."""
    if states is not None:
        return states
    step = first_step(inputs)
    if isinstance(step, Symbol):
        return cell.begin_state(func=symbol.zeros, batch_size=0)
    axis = layout.batch
    if step is inputs and axis >= layout.time:
        axis += 1
    zeros = ndarray.zeros
    if is_floating(step.dtype):
        zeros = partial(zeros, dtype=step.dtype)
    with step.context:
        return cell.begin_state(func=zeros, batch_size=step.shape[axis])


def masked(length: int, sequence: Tensor, valid_length: Tensor, axis: int, merge: bool) -> Any:
    """Replaces the steps after the valid length of each row by zeros."""
    if not isinstance(sequence, tensor_types):
        sequence = namespace_of(sequence[0]).stack(*sequence, axis=axis)
    outputs = namespace_of(sequence).SequenceMask(
        sequence, sequence_length=valid_length, use_sequence_length=True, axis=axis
    )
    return outputs if merge else split(length, outputs, axis, True)


def last_valid(states: Sequence[Sequence[Any]], valid_length: Tensor) -> list[Any]:
    """Returns each row's states after its last valid step, from the states after every step."""
    last = []
    for steps in zip(*states, strict=True):
        functions = namespace_of(steps[0])
        stacked = functions.stack(*steps, axis=0)
        last.append(
            functions.SequenceLast(
                stacked, sequence_length=valid_length, use_sequence_length=True, axis=0
            )
        )
    return last


def reversed_steps(length: int, steps: Sequence[Any], valid_length: Tensor) -> list[Any]:
    """Reverses the valid steps of each row."""
    if valid_length is None:
        return list(steps[::-1])
    functions = namespace_of(steps[0])
    stacked = functions.stack(*steps, axis=0)
    outputs = functions.SequenceReverse(
        stacked, sequence_length=valid_length, use_sequence_length=True
    )
    return split(length, outputs, 0, True)


def is_merged(outputs: Any, merge_outputs: bool | None) -> bool:
    """Checks whether outputs are to be merged: as asked for, or as they are."""
    return isinstance(outputs, tensor_types) if merge_outputs is None else merge_outputs
