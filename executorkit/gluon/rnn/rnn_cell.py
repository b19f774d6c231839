"""``mx.gluon.rnn.rnn_cell``: MXNet's import path of cells and of functions for libraries' cells."""

from collections.abc import Iterable
from typing import Any

from ...symbol import Symbol
from .._parameter import tensor_types
from .._types import Ops, StateInfo, States, Tensor
from ._cells_of_cells import (
    BidirectionalCell as BidirectionalCell,
    DropoutCell as DropoutCell,
    HybridSequentialRNNCell as HybridSequentialRNNCell,
    ModifierCell as ModifierCell,
    ResidualCell as ResidualCell,
    SequentialRNNCell as SequentialRNNCell,
    ZoneoutCell as ZoneoutCell,
)
from ._gated_cells import (
    DenseCell as DenseCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
)
from ._recurrent_cell import (
    HybridRecurrentCell as HybridRecurrentCell,
    RecurrentCell as RecurrentCell,
)
from .sequences import (
    check_inputs,
    first_step,
    masked,
    merge_or_split,
    namespace_of,
    reversed_steps,
)


def _cells_state_info(cells: Iterable[Any], batch_size: int) -> list[StateInfo]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _cells_begin_state(cells: Iterable[Any], **kwargs: Any) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _format_sequence(
    length: Any, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Tensor, int, Ops, int]:
    axis, is_list = layout.find("T"), not isinstance(inputs, tensor_types)
    in_axis = axis if in_layout is None or is_list else in_layout.find("T")
    if is_list or merge is False:
        check_inputs(length, inputs, in_axis)
    first = first_step(inputs)
    batch_axis = (layout.replace("T", "") if is_list else layout).find("N")
    batch_size = 0 if isinstance(first, Symbol) else first.shape[batch_axis]
    if merge is False and not is_list:
        length = length or inputs.shape[in_axis]
    steps = merge_or_split(length, inputs, in_axis, merge)
    functions = namespace_of(first)
    if axis != in_axis and isinstance(steps, tensor_types):
        steps = functions.swapaxes(steps, dim1=axis, dim2=in_axis)
    return steps, axis, functions, batch_size


def _get_begin_state(
    cell: Any, F: Ops, begin_state: States, inputs: Tensor, batch_size: int
) -> States:
    if begin_state is not None:
        return begin_state
    first = first_step(inputs)
    if isinstance(first, Symbol):
        return cell.begin_state(func=F.zeros, batch_size=0)
    with first.context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)


def _mask_sequence_variable_length(
    F: Ops, data: Tensor, length: int, valid_length: Tensor, time_axis: int, merge: bool
) -> Tensor:
    return masked(length, data, valid_length, time_axis, merge)


def _reverse_sequences(sequences: Any, unroll_step: int, valid_length: Tensor = None) -> list[Any]:
    return reversed_steps(unroll_step, sequences, valid_length)
