"""The arrays of a module's group, as scripts read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..executor import Executor
from ..ndarray import NDArray
from ..parallel._group import DataParallelCore
from ..parallel._stacked import PerDevice

Pairs = list[list[tuple[slice, NDArray]]]


class ArrayViews:
    """Lists of the arrays of all devices; nothing is split off before its contents are read."""

    _group: DataParallelCore
    _numbers: dict[str, int]
    _parameters: list[str]
    data_names: list[str]
    label_names: list[str]
    state_names: list[str]
    label_shapes: list[Any] | None
    slices: list[slice]
    contexts: list[Any]
    for_training: bool
    inputs_need_grad: bool

    @property
    def execs(self) -> list[Executor]:
        """One executor for each device."""
        return self._group.execs

    @property
    def data_arrays(self) -> Pairs:
        """For each data input, (slice, NDArray) of all devices."""
        return self._pairs(self.data_names)

    @property
    def label_arrays(self) -> Pairs | None:
        """For each label, (slice, NDArray) of all devices; None without label shapes."""
        return None if self.label_shapes is None else self._pairs(self.label_names)

    @property
    def state_arrays(self) -> list[list[NDArray]]:
        """For each state, the arrays of all devices."""
        return [list(self._arguments(name)) for name in self.state_names]

    @property
    def param_arrays(self) -> list[PerDevice]:
        """For each parameter, in the symbol's order, the arrays of all devices."""
        return [self._arguments(name) for name in self._parameters]

    @property
    def grad_arrays(self) -> list[Any] | None:
        """For each parameter the gradients of all devices, Nones without; None for inference."""
        if not self.for_training:
            return None
        nothing = [None] * len(self.contexts)
        return [self._gradients(name) or nothing for name in self._parameters]

    @property
    def aux_arrays(self) -> list[PerDevice]:
        """For each auxiliary state, the arrays of all devices."""
        return self._group.aux_arrays

    @property
    def input_grad_arrays(self) -> list[Any] | None:
        """For each data input the gradients of all devices; None without inputs_need_grad."""
        if not self.inputs_need_grad:
            return None
        nothing = [None] * len(self.contexts)
        return [list(self._gradients(name) or nothing) for name in self.data_names]

    def _pairs(self, names: Sequence[str]) -> Pairs:
        return [list(zip(self.slices, self._arguments(n), strict=True)) for n in names]

    def _arguments(self, name: str) -> PerDevice:
        return self._group.arg_arrays[self._numbers[name]]

    def _gradients(self, name: str) -> PerDevice | None:
        return self._group.grad_arrays[self._numbers[name]]
