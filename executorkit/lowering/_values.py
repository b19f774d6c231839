"""The values of a graph while it is traced, some of them held channels last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from ..ops import Params
from ..ops._attrs import Shape
from ..ops._layouts import LayoutRewrite
from ._graph import GraphStep


class Values:
    """Arrays by number, as they are in the graph: an array that is held channels last is moved back
    when someone asks for it."""

    def __init__(self, count: int) -> None:
        self._arrays: list[Any] = [None] * count
        self._last: dict[int, Any] = {}

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self._arrays)))

    def __getitem__(self, number: int) -> Any:
        if self._arrays[number] is None and number in self._last:
            self._arrays[number] = jnp.moveaxis(self._last[number], -1, 1)
        return self._arrays[number]

    def __setitem__(self, number: int, array: Any) -> None:
        self._arrays[number] = array

    def export(self, number: int) -> dict[bool, Any]:
        """The value in the form that it is held in, channels last or not, for :meth:`take`."""
        return {True: self._last[number]} if number in self._last else {False: self[number]}

    def take(self, number: int, export: dict[bool, Any]) -> None:
        """The value is what another one of these has handed over."""
        ((last, array),) = export.items()
        (self._last if last else self._arrays)[number] = array

    def put_channels_last(self, number: int, array: Any) -> None:
        """The value is what ``array`` is with its last axis as axis 1."""
        self._last[number] = array

    def last(self, number: int) -> Any:
        """The value with its channels moved from axis 1 to the end."""
        if number not in self._last:
            self._last[number] = jnp.moveaxis(self[number], 1, -1)
        return self._last[number]

    def shape(self, number: int) -> Shape:
        if self._arrays[number] is None and number in self._last:
            n, *spatial, c = self._last[number].shape
            return (n, c, *spatial)
        return tuple(self[number].shape)

    def moved(self, step: GraphStep, params: Params) -> LayoutRewrite | None:
        """The form in which a step runs on channels-last data, if that is better here: if it is
        worth moving its data for, or some of it has been moved already."""
        if step.op.last is None:
            return None
        form = step.op.last(params, [self.shape(i) for i in step.inputs])
        if form and (form.profitable or any(step.inputs[k] in self._last for k in form.inputs)):
            return form
        return None
