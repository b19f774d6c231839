"""The values of a graph while it is traced, some of them as rows of stacked arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from ._values import Values

#: Shape and dtype of an array.
Kind = tuple[tuple[int, ...], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """``count`` arrays in one: rows of ``array`` along its first axis or, given ``axis``, parts of
    it along that axis, which are of size 1 and come without the axis if ``squeeze`` is set.

    ``make`` computes all parts and stores them, where they are wanted one by one.
    """

    array: Any
    count: int
    axis: int | None = None
    squeeze: bool = False
    make: Callable[[], None] | None = None

    @property
    def kind(self) -> Kind:
        shape = list(self.array.shape)
        at = self.axis or 0
        if self.axis is None or self.squeeze:
            del shape[at]
        else:
            shape[at] //= self.count
        return tuple(shape), self.array.dtype

    def rows(self, first: int, count: int, stride: int) -> Any:
        """Some of the arrays along a new first axis."""
        last = first + (count - 1) * stride
        low, high = min(first, last), max(first, last)
        array = self.array
        if self.axis is None:
            array = _slice(array, low, high + 1, 0)
        else:
            size = array.shape[self.axis] // self.count
            array = _slice(array, low * size, (high + 1) * size, self.axis)
            shape = array.shape
            parts = () if self.squeeze else (size,)
            array = jnp.moveaxis(
                array.reshape(*shape[: self.axis], high + 1 - low, *parts, *shape[self.axis + 1 :]),
                self.axis,
                0,
            )
        if abs(stride) > 1:
            array = lax.slice_in_dim(array, 0, None, abs(stride), 0)
        return lax.rev(array, (0,)) if stride < 0 else array


def _slice(array: Any, low: int, high: int, axis: int) -> Any:
    if low == 0 and high == array.shape[axis]:
        return array
    return lax.slice_in_dim(array, low, high, axis=axis)


class Store(Values):
    """Arrays by number. Rows of stacks are cut out only where someone wants one by itself."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._rows: dict[int, tuple[Stack, int]] = {}
        self._stacked: dict[tuple[int, ...], Any] = {}

    def __getitem__(self, number: int) -> Any:
        if self._arrays[number] is None and number in self._rows:
            stack, row = self._rows[number]
            if stack.make is not None:
                stack.make()
            else:
                self._arrays[number] = lax.index_in_dim(stack.array, row, 0, keepdims=False)
        return super().__getitem__(number)

    def put(self, numbers: Sequence[int], stack: Stack) -> None:
        """Values ``numbers`` are the arrays of a stack."""
        for row, number in enumerate(numbers):
            self._rows[number] = stack, row
            self._arrays[number] = None

    def kind(self, number: int) -> Kind:
        """Shape and dtype of a value."""
        if self._arrays[number] is None and number in self._rows:
            return self._rows[number][0].kind
        array = self[number]
        return tuple(array.shape), array.dtype

    def alike(self, numbers: Sequence[int]) -> bool:
        """Whether all these values have one shape and dtype."""
        first = self.kind(numbers[0])
        return all(self.kind(n) == first for n in numbers)

    def descends(self, numbers: Sequence[int]) -> int:
        """1 if these values are rows of one stack from the last to the first, -1 if they are from
        the first to the last, else 0."""
        runs = list(self._runs(numbers))
        if len(runs) > 1 or runs[0][0] is None:
            return 0
        return -1 if runs[0][3] > 0 else 1

    def stacked(self, numbers: tuple[int, ...]) -> Any:
        """Values of one shape and dtype, along a new first axis."""
        if numbers not in self._stacked:
            blocks = [self._block(*run) for run in self._runs(numbers)]
            self._stacked[numbers] = lax.concatenate(blocks, 0) if len(blocks) > 1 else blocks[0]
        return self._stacked[numbers]

    def joined(self, numbers: Sequence[int], axis: int, new: bool) -> Any:
        """Values one after the other along an axis, or along a ``new`` one; None where no two of
        them are neighbours in a stack, so that there is no shorter way than one by one."""
        runs = list(self._runs(numbers))
        if all(count == 1 for *_, count, _ in runs):
            return None
        blocks = []
        for run in runs:
            block = jnp.moveaxis(self._block(*run), 0, axis)
            if not new:
                shape = block.shape
                merged = shape[axis] * shape[axis + 1]
                block = block.reshape(*shape[:axis], merged, *shape[axis + 2 :])
            blocks.append(block)
        return lax.concatenate(blocks, axis) if len(blocks) > 1 else blocks[0]

    def _runs(self, numbers: Sequence[int]) -> Iterator[tuple[Stack | None, int, int, int]]:
        """Cuts a list of values into (stack, first row, count, stride); (None, value, 1, 1) for a
        value of its own."""
        stack, first, count, stride = None, 0, 0, 1
        for number in numbers:
            here, row = self._rows.get(number, (None, 0))
            if here is not None and here is stack:
                if count == 1 and row != first:
                    count, stride = 2, row - first
                    continue
                if count > 1 and row == first + count * stride:
                    count += 1
                    continue
            if count:
                yield stack, first, count, stride
            stack, first, count, stride = here, (number if here is None else row), 1, 1
        if count:
            yield stack, first, count, stride

    def _block(self, stack: Stack | None, first: int, count: int, stride: int) -> Any:
        if stack is None:
            return lax.expand_dims(self[first], (0,))
        return stack.rows(first, count, stride)
