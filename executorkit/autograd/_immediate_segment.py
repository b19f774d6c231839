"""TapeSegments that are computed when they are recorded: a user's functions, operators whose
results have shapes that depend on values, copies between devices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from .._support.annotations import NumberedArrays, Raw
from ..arrays.handle import Handle
from ..calls.recording import Variable
from ..context import Context
from ..errors import MXNetError
from ..ndarray import NDArray
from ._tape_segment import Gradients, LeafEntry, Reached, RecordedValue, Status, TapeSegment

#: From the outputs' gradients to the inputs' gradients, in their order and None for zero.
Backward = Callable[[Sequence[Any]], Sequence[Any]]


class ImmediateSegment(TapeSegment):
    """One call that has been computed; its outputs are its values, by number."""

    __slots__ = ("_backward", "_n_outputs")

    def __init__(
        self, inputs: Sequence[Handle], outputs: Sequence[Handle], backward: Backward
    ) -> None:
        super().__init__(outputs[0].context, threading.RLock())
        self._backward: Backward | None = backward
        self._n_outputs = len(outputs)
        self.leaf_entries = [differentiable(x) for x in inputs]
        self.status = Status.CLOSED
        for number, array in enumerate(outputs):
            array.graph_entry = RecordedValue(self, number, array.storage)

    def reached(self, heads: Sequence[int]) -> Reached:
        leaves = [i for i, entry in enumerate(self.leaf_entries) if takes_gradient(entry)]
        return Reached(frozenset(range(self._n_outputs)), tuple(leaves))

    def gradients(self, heads: NumberedArrays, train_mode: bool) -> Gradients:
        assert self._backward is not None
        grads = self._backward([heads.get(n) for n in range(self._n_outputs)])
        return Gradients(
            [
                (i, grads[i])
                for i, entry in enumerate(self.leaf_entries)
                if takes_gradient(entry) and grads[i] is not None
            ]
        )

    def recorded_gradients(
        self, heads: Mapping[int, NDArray], train_mode: bool
    ) -> Sequence[tuple[int, NDArray]]:
        raise MXNetError(
            "autograd.grad: create_graph",
            "a graph with a Function, or with an operator whose result has a shape that depends on "
            "values, can be differentiated once",
        )

    def use_up(self, heads: Sequence[int]) -> None:
        self.status = Status.USED_UP
        self._backward = None
        self.leaf_entries = []


class CopySegment(ImmediateSegment):
    __slots__ = ("_source",)

    def __init__(self, array: Handle, copy: Handle) -> None:
        source = array.context
        super().__init__([array], [copy], lambda heads: [jax.device_put(heads[0], source.device)])
        self._source = source

    def recorded_gradients(
        self, heads: Mapping[int, NDArray], train_mode: bool
    ) -> Sequence[tuple[int, Raw]]:
        if not takes_gradient(self.leaf_entries[0]):
            return []
        return [(0, record_copy(NDArray, heads[0], self._source))]


def record_copy(cls: type[Handle], array: Handle, context: Context) -> Handle:
    value = jax.device_put(array.value, context.device, may_alias=False)
    copy = cls.from_jax(value, context, shared=False)
    CopySegment(array, copy)
    return copy


def differentiable(array: Handle) -> LeafEntry:
    """Returns the leaf that an array becomes when it is read: None for a constant."""
    entry = array.graph_entry
    if entry.__class__ is RecordedValue:
        return entry if entry.segment.leads_to_variables(entry) else None
    return entry


def takes_gradient(entry: LeafEntry) -> bool:
    if isinstance(entry, Variable):
        return entry.request != "null"
    return entry is not None
