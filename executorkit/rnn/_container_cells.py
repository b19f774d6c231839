"""Cells that contain cells: SequentialRNNCell and BidirectionalCell."""

from collections.abc import Callable, Mapping
from typing import Any

from .. import symbol as sym
from ..errors import ArgumentValueError, NotSupportedError
from ..ndarray import NDArray
from ..symbol import Symbol
from ._base_cell import Arrays, BaseRNNCell, Outputs, RNNParams, StateInfo, States
from ._unrolling import SQUEEZE_AXIS, as_steps, time_axis


class _Container(BaseRNNCell):
    _cells: list[BaseRNNCell]

    def __init__(self, params: RNNParams | None) -> None:
        self._cells = []
        super().__init__("", params)
        self._override_cell_params = params is not None

    def _adopt(self, cell: BaseRNNCell) -> None:
        if self._override_cell_params:
            if not cell._own_params:
                problem = f"both it and its {type(cell).__name__} have params"
                hint = "give params to the cells inside alone"
                raise ArgumentValueError(type(self).__name__, problem, hint=hint)
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    @property
    def state_info(self) -> list[StateInfo]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: Any) -> States:
        self._check_not_modified()
        return [s for cell in self._cells for s in cell.begin_state(func=func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        arrays = dict(args)
        for cell in self._cells:
            arrays = cell.unpack_weights(arrays)
        return arrays

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        arrays = dict(args)
        for cell in self._cells:
            arrays = cell.pack_weights(arrays)
        return arrays


class SequentialRNNCell(_Container):
    """A stack of cells: each takes the output of the cell below. It has the states of all."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Adds a cell on top."""
        self._adopt(cell)

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        self._counter += 1
        next_states = []
        for cell in self._cells:
            if isinstance(cell, BidirectionalCell):
                problem = "a BidirectionalCell inside cannot be stepped"
                raise ArgumentValueError("SequentialRNNCell", problem, hint="unroll")
            count = len(cell.state_info)
            inputs, cell_states = cell(inputs, states[:count])
            states = states[count:]
            next_states += cell_states
        return inputs, next_states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None) -> Outputs:
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        next_states = []
        for i, cell in enumerate(self._cells):
            count = len(cell.state_info)
            inputs, cell_states = cell.unroll(
                length,
                inputs=inputs,
                begin_state=states[:count],
                layout=layout,
                merge_outputs=merge_outputs if i == len(self._cells) - 1 else None,
            )
            states = states[count:]
            next_states.extend(cell_states)
        return inputs, next_states


class BidirectionalCell(_Container):
    """One cell forward in time and another backward, with concatenated outputs, whose names begin
    with ``output_prefix``. The states of ``l_cell``, the forward cell, come before the states of
    ``r_cell``; ``unroll`` returns two lists. It cannot be stepped, because the backward cell begins
    at the end."""

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        for cell in (l_cell, r_cell):
            self._adopt(cell)

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        raise NotSupportedError("BidirectionalCell", "it cannot be stepped", hint="unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None) -> Outputs:
        self.reset()
        axis = time_axis(layout)
        steps = as_steps(length, inputs, layout)
        initial = self.begin_state() if begin_state is None else begin_state
        left, right = self._cells
        n = len(left.state_info)
        forward, l_states = left.unroll(length, steps, initial[:n], layout, merge_outputs)
        backward, r_states = right.unroll(length, steps[::-1], initial[n:], layout, merge_outputs)
        states = [l_states, r_states]
        if (
            merge_outputs is not False
            and isinstance(forward, Symbol)
            and isinstance(backward, Symbol)
        ):
            backward = sym.reverse(backward, axis=axis)
            return sym.Concat(forward, backward, dim=2, name=f"{self._output_prefix}out"), states
        forward, backward = (
            list(sym.SliceChannel(outputs, axis=axis, num_outputs=length, **SQUEEZE_AXIS))
            if isinstance(outputs, Symbol)
            else outputs
            for outputs in (forward, backward)
        )
        concatenated = [
            sym.Concat(a, b, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (a, b) in enumerate(zip(forward, reversed(backward), strict=True))
        ]
        return concatenated, states
