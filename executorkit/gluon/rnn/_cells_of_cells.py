"""Cells that contain cells: stacks, both directions, and modifiers of one cell."""

from __future__ import annotations

from numbers import Number
from typing import Any

from ... import symbol
from ..._support.annotations import Function
from ...errors import ArgumentValueError, NotSupportedError
from .._parameter import tensor_types
from .._parameter_dict import ParameterDict
from .._types import Ops, StateInfo, States, Tensor
from ._recurrent_cell import HybridRecurrentCell, RecurrentCell
from .sequences import (
    Layout,
    check_inputs,
    first_states,
    first_step,
    is_merged,
    masked,
    merge_or_split,
    namespace_of,
    reversed_steps,
)


class _Group(RecurrentCell):
    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:
        self._check_not_modified()
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]


class _CellStack(_Group):
    def add(self, cell: Any) -> None:
        """Adds a cell on top."""
        self.register_child(cell)

    def __repr__(self) -> str:
        lines = ("({}): {}".format(k, repr(v).replace("\n", "\n  ")) for k, v in self._items())
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    def _items(self) -> Any:
        return self._children.items()

    def __getitem__(self, i: int | str) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)

    def __call__(self, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        self._counter += 1
        next_states: list[Any] = []
        start = 0
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                problem = "a BidirectionalCell inside cannot be stepped"
                raise ArgumentValueError(type(self).__name__, problem, hint="unroll")
            end = start + len(cell.state_info())
            inputs, states_of_cell = cell(inputs, states[start:end])
            next_states += states_of_cell
            start = end
        return inputs, next_states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        states = first_states(self, begin_state, inputs, axes)
        next_states: list[Any] = []
        cells, start = [*self._children.values()], 0
        for i, cell in enumerate(cells):
            end = start + len(cell.state_info())
            merge = merge_outputs if i == len(cells) - 1 else None
            inputs, states_of_cell = cell.unroll(
                length, inputs=inputs, begin_state=states[start:end], layout=layout,
                merge_outputs=merge, valid_length=valid_length,
            )  # fmt: skip
            next_states += states_of_cell
            start = end
        return inputs, next_states


class SequentialRNNCell(_CellStack):
    """A stack of cells: each takes the output of the one below. It has the states of all."""

    def hybrid_forward(self, *args: Tensor, **kwargs: Any) -> Tensor:
        """Raises NotImplementedError: a stack is called as a block."""
        raise NotImplementedError


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """A stack of cells that are :class:`HybridRecurrentCell`."""

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        return self(inputs, states)


class BidirectionalCell(_Group, HybridRecurrentCell):
    """One cell forward in time and another backward, with concatenated outputs, whose names begin
    with ``output_prefix``. The states of ``l_cell``, the forward cell, come before the states of
    ``r_cell``. It cannot be stepped, because the backward cell begins at the end, with a
    ``valid_length`` at the end of each row."""

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __repr__(self) -> str:
        left, right = self._children.values()
        return f"{type(self).__name__}(forward={left}, backward={right})"

    def __call__(self, inputs: Tensor, states: States) -> Any:
        raise NotSupportedError("BidirectionalCell", "it cannot be stepped", hint="unroll")

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        axis = axes.time
        check_inputs(length, inputs, axis)
        steps = merge_or_split(length, inputs, axis, False)
        states = first_states(self, begin_state, steps, axes)
        left, right = self._children.values()
        count = len(left.state_info())
        forward, left_states = left.unroll(
            length, inputs=steps, begin_state=states[:count], layout=layout,
            merge_outputs=merge_outputs, valid_length=valid_length,
        )  # fmt: skip
        backward, right_states = right.unroll(
            length, inputs=reversed_steps(length, steps, valid_length), begin_state=states[count:],
            layout=layout, merge_outputs=False, valid_length=valid_length,
        )  # fmt: skip
        backward = reversed_steps(length, backward, valid_length)
        merge = is_merged(forward, merge_outputs)
        forward = merge_or_split(length, forward, axis, merge)
        backward = merge_or_split(length, backward, axis, merge)
        concat = namespace_of(first_step(forward)).concat
        if merge:
            outputs = concat(forward, backward, dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                concat(a, b, dim=1, name=f"{self._output_prefix}t{i}")
                for i, (a, b) in enumerate(zip(forward, backward, strict=True))
            ]
        if valid_length is not None:
            outputs = masked(length, outputs, valid_length, axis, merge)
        return outputs, [*left_states, *right_states]


class DropoutCell(HybridRecurrentCell):
    """Dropout of the input in training, without states; a layer of a stack. Elements are dropped
    with probability ``rate``; along ``axes`` they are dropped or kept together."""

    def __init__(
        self,
        rate: float,
        axes: Any = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, Number):
            raise ArgumentValueError("DropoutCell: rate", f"{rate!r}, expected a number")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return []

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        if self._rate > 0:
            name = f"{self._step_prefix()}fwd"
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=name)
        return inputs, states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        axes = Layout.of(layout)
        check_inputs(length, inputs, axes.time)
        inputs = merge_or_split(length, inputs, axes.time, merge_outputs)
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(namespace_of(inputs), inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(HybridRecurrentCell):
    """Base of cells that modify ``base_cell``, which must no longer be called by itself. Parameters
    and states are the base cell's; as in MXNet, states are symbols unless ``func`` creates arrays.
    Raises AssertionError for a cell that is modified already."""

    def __init__(self, base_cell: Any) -> None:
        if base_cell.is_modified:
            problem = f"{base_cell.name} is inside a modifier cell already"
            raise ArgumentValueError(type(self).__name__, problem, hint="modify the modifier cell")
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        base_cell.hand_to_modifier()
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        return self.base_cell.params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Function = symbol.zeros, **kwargs: Any) -> list[Any]:
        self._check_not_modified()
        with self.base_cell.as_unmodified():
            return self.base_cell.begin_state(func=func, **kwargs)

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: hybrid_forward")


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, the fractions ``zoneout_outputs`` and ``zoneout_states`` of outputs and
    states keep the values of the step before. As in MXNet, inference takes all new values. Raises
    AssertionError for a BidirectionalCell. Krueger et al. 2016, https://arxiv.org/abs/1606.01305.
    """

    def __init__(
        self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            problem = "a BidirectionalCell cannot be stepped"
            raise ArgumentValueError("ZoneoutCell", problem, hint="ZoneoutCell of the cells inside")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def _alias(self) -> str:
        return "zoneout"

    def __repr__(self) -> str:
        shares = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({shares}, {self.base_cell})"

    def reset(self) -> None:
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        new_output, new_states = self.base_cell(inputs, states)

        def zoned_out(share: float, new: Any, old: Any) -> Any:
            mask = F.Dropout(F.ones_like(new), p=share)
            return F.where(mask, new, F.zeros_like(new) if old is None else old)

        # A trace with symbols leaves a symbol here, which later arrays have nothing to do with.
        previous = self._prev_output
        if not isinstance(previous, type(new_output)):
            previous = None
        output = new_output
        if self.zoneout_outputs:
            output = zoned_out(self.zoneout_outputs, new_output, previous)
        if self.zoneout_states:
            new_states = [
                zoned_out(self.zoneout_states, new, old)
                for new, old in zip(new_states, states, strict=True)
            ]
        self._prev_output = output
        return output, new_states


class ResidualCell(ModifierCell):
    """A residual connection: adds the input to the base cell's output of the same shape. Wu et al.
    2016, https://arxiv.org/abs/1609.08144."""

    def hybrid_forward(self, F: Ops, inputs: Tensor, states: States) -> Tensor:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"{self._step_prefix()}fwd"), states

    def unroll(
        self, length: int, inputs: Tensor, begin_state: States = None, layout: str = "NTC",
        merge_outputs: bool | None = None, valid_length: Tensor = None,
    ) -> tuple[Tensor, States]:  # fmt: skip
        self.reset()
        with self.base_cell.as_unmodified():
            outputs, states = self.base_cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout,
                merge_outputs=merge_outputs, valid_length=valid_length,
            )  # fmt: skip
        axis, merge = Layout.of(layout).time, is_merged(outputs, merge_outputs)
        inputs = merge_or_split(length, inputs, axis, merge)
        if valid_length is not None:
            inputs = masked(length, inputs, valid_length, axis, merge)
        add = namespace_of(first_step(inputs)).elemwise_add
        if merge:
            return add(outputs, inputs), states
        return [add(a, b) for a, b in zip(outputs, inputs, strict=True)], states
