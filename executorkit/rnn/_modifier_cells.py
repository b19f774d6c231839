"""Cells that modify another cell."""

from collections.abc import Callable, Mapping
from typing import Any

from .. import symbol as sym
from ..errors import ArgumentValueError
from ..ndarray import NDArray
from ..symbol import Symbol
from ._base_cell import Arrays, BaseRNNCell, Outputs, RNNParams, StateInfo, States
from ._container_cells import BidirectionalCell
from ._fused_cell import FusedRNNCell
from ._unrolling import merge_or_split


class ModifierCell(BaseRNNCell):
    """Base of cells that modify ``base_cell``, which must no longer be called by itself. Parameters
    and states are the base cell's. As in MXNet, ``reset`` does not reset it."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell.hand_to_modifier()
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[StateInfo]:
        return self.base_cell.state_info

    def begin_state(
        self,
        init_sym: Callable[..., Symbol] = sym.zeros,
        func: Callable[..., Symbol] | None = None,
        **kwargs: Any,
    ) -> States:
        """Returns states of the base cell; ``init_sym`` and ``func`` are names of one argument."""
        self._check_not_modified()
        with self.base_cell.as_unmodified():
            return self.base_cell.begin_state(func=func or init_sym, **kwargs)

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, the fractions ``zoneout_outputs`` and ``zoneout_states`` of outputs and
    states keep the values of the step before. As in MXNet, inference takes all new values. Raises
    AssertionError for cells that cannot be stepped. Krueger et al. 2016,
    https://arxiv.org/abs/1606.01305."""

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, FusedRNNCell | BidirectionalCell):
            fused = isinstance(base_cell, FusedRNNCell)
            problem = f"a {type(base_cell).__name__} cannot be stepped"
            hint = "base_cell.unfuse()" if fused else "ZoneoutCell of the cells inside"
            raise ArgumentValueError("ZoneoutCell", problem, hint=hint)
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        output, next_states = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            previous = sym.zeros((0, 0)) if self.prev_output is None else self.prev_output
            output = _zoned_out(self.zoneout_outputs, output, previous)
        if self.zoneout_states:
            next_states = [
                _zoned_out(self.zoneout_states, new, old)
                for new, old in zip(next_states, states, strict=True)
            ]
        self.prev_output = output
        return output, next_states


def _zoned_out(share: float, new: Symbol, old: Symbol) -> Symbol:
    return sym.where(sym.Dropout(sym.ones_like(new), p=share), new, old)


class ResidualCell(ModifierCell):
    """A residual connection: adds the input to the base cell's output of the same shape. Wu et al.
    2016, https://arxiv.org/abs/1609.08144."""

    def __call__(self, inputs: Symbol, states: States) -> tuple[Symbol, States]:
        output, next_states = self.base_cell(inputs, states)
        return _sum(output, inputs), next_states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None) -> Outputs:
        self.reset()
        cell = self.base_cell
        with cell.as_unmodified():
            outputs, states = cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        merge = isinstance(outputs, Symbol) if merge_outputs is None else merge_outputs
        sequence = merge_or_split(length, inputs, layout, merge)
        if isinstance(sequence, Symbol):
            return _sum(outputs, sequence), states
        return [_sum(o, i) for o, i in zip(outputs, sequence, strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
