"""Values of a graph while it is traced, some of them rows of stacked arrays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._support.annotations import Raw
from .._interpreter import ValueStore

ShapeAndDtype = tuple[tuple[int, ...], Any]


@dataclass(frozen=True, slots=True, eq=False)
class StackedArrays:
    """Arrays in one: rows of ``array`` or parts of size 1 along ``axis``, which ``squeeze`` drops.
    ``compute_parts`` computes and stores all parts."""

    array: Raw
    count: int
    axis: int | None = None
    squeeze: bool = False
    compute_parts: Callable[[], None] | None = None

    @property
    def shape_and_dtype(self) -> ShapeAndDtype:
        shape = list(self.array.shape)
        axis = self.axis or 0
        if self.axis is None or self.squeeze:
            del shape[axis]
        else:
            shape[axis] //= self.count
        return tuple(shape), self.array.dtype

    def rows(self, first: int, count: int, stride: int) -> Raw:
        last = first + (count - 1) * stride
        low, high = min(first, last), max(first, last)
        array = self.array
        if self.axis is None:
            array = _slice(array, low, high + 1, 0)
        else:
            size = array.shape[self.axis] // self.count
            array = _slice(array, low * size, (high + 1) * size, self.axis)
            before, after = array.shape[: self.axis], array.shape[self.axis + 1 :]
            part_shape = () if self.squeeze else (size,)
            array = array.reshape(*before, high + 1 - low, *part_shape, *after)
            array = jnp.moveaxis(array, self.axis, 0)
        if abs(stride) > 1:
            array = lax.slice_in_dim(array, 0, None, abs(stride), 0)
        return lax.rev(array, (0,)) if stride < 0 else array


def _slice(array: Raw, low: int, high: int, axis: int) -> Raw:
    if low == 0 and high == array.shape[axis]:
        return array
    return lax.slice_in_dim(array, low, high, axis=axis)


class StackedValueStore(ValueStore):
    """Arrays by number. Rows of stacks are sliced only for readers of a single one."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._rows: dict[int, tuple[StackedArrays, int]] = {}
        self._stacked: dict[tuple[int, ...], Any] = {}

    def __getitem__(self, number: int) -> Raw:
        if self._arrays[number] is None and number in self._rows:
            stack, row = self._rows[number]
            if stack.compute_parts is not None:
                stack.compute_parts()
            else:
                self._arrays[number] = lax.index_in_dim(stack.array, row, 0, keepdims=False)
        return super().__getitem__(number)

    def put_stack(self, numbers: Sequence[int], stack: StackedArrays) -> None:
        for row, number in enumerate(numbers):
            self._rows[number] = stack, row
            self._arrays[number] = None

    def shape_and_dtype(self, number: int) -> ShapeAndDtype:
        if self._arrays[number] is None and number in self._rows:
            return self._rows[number][0].shape_and_dtype
        array = self[number]
        return tuple(array.shape), array.dtype

    def are_uniform(self, numbers: Sequence[int]) -> bool:
        first = self.shape_and_dtype(numbers[0])
        return all(self.shape_and_dtype(n) == first for n in numbers)

    def row_direction(self, numbers: Sequence[int]) -> int:
        """Returns 1 if values are a stack's rows from last to first, -1 in reverse, else 0."""
        runs = list(self._runs(numbers))
        if len(runs) > 1 or runs[0][0] is None:
            return 0
        return -1 if runs[0][3] > 0 else 1

    def stacked(self, numbers: tuple[int, ...]) -> Raw:
        if numbers not in self._stacked:
            blocks = [self._block(*run) for run in self._runs(numbers)]
            self._stacked[numbers] = lax.concatenate(blocks, 0) if len(blocks) > 1 else blocks[0]
        return self._stacked[numbers]

    def concatenated(self, numbers: Sequence[int], axis: int, is_new_axis: bool) -> Raw:
        """Concatenates values along an axis; returns None where no two are neighbours in a stack,
        so that concatenating them one by one costs no more."""
        runs = list(self._runs(numbers))
        if all(count == 1 for *_, count, _ in runs):
            return None
        blocks = []
        for run in runs:
            block = jnp.moveaxis(self._block(*run), 0, axis)
            if not is_new_axis:
                shape = block.shape
                merged = shape[axis] * shape[axis + 1]
                block = block.reshape(*shape[:axis], merged, *shape[axis + 2 :])
            blocks.append(block)
        return lax.concatenate(blocks, axis) if len(blocks) > 1 else blocks[0]

    def _runs(self, numbers: Sequence[int]) -> Iterator[tuple[StackedArrays | None, int, int, int]]:
        # Cuts a list of values into (stack, first row, count, stride); (None, value, 1, 1) for a
        # value outside all stacks.
        stack, first, count, stride = None, 0, 0, 1
        for number in numbers:
            next_stack, row = self._rows.get(number, (None, 0))
            if next_stack is not None and next_stack is stack:
                if count == 1 and row != first:
                    count, stride = 2, row - first
                    continue
                if count > 1 and row == first + count * stride:
                    count += 1
                    continue
            if count:
                yield stack, first, count, stride
            stack, count, stride = next_stack, 1, 1
            first = number if next_stack is None else row
        if count:
            yield stack, first, count, stride

    def _block(self, stack: StackedArrays | None, first: int, count: int, stride: int) -> Raw:
        if stack is None:
            return lax.expand_dims(self[first], (0,))
        return stack.rows(first, count, stride)
