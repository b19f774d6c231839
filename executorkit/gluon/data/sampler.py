"""Samplers: orders of indices, single or in batches."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ArgumentValueError, NotSupportedError


class Sampler:
    """Base of samplers: ``iter(sampler)`` gives an epoch's ``len(sampler)`` indices."""

    def __len__(self) -> int:
        raise NotSupportedError(f"{type(self).__name__}.__len__", "the class does not define it")

    def __iter__(self) -> Iterator[Any]:
        raise NotSupportedError(f"{type(self).__name__}.__iter__", "the class does not define it")


class SequentialSampler(Sampler):
    """Indices ``start..start+length-1`` in order."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """Indices ``0..length-1`` in random order, reshuffled each epoch by NumPy's global generator
    (``np.random.seed``), so that orders are MXNet's."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[Any]:
        numbers = np.arange(self._length)
        np.random.shuffle(numbers)
        return iter(numbers)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """Indices of the samples for which ``fn(sample)`` is true. All samples are read now.

    >>> list(FilterSampler(str.isupper, ["a", "B", "C"]))
    [1, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._fn = fn
        self._dataset = dataset
        self._indices = [number for number, sample in enumerate(dataset) if fn(sample)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of ``batch_size`` indices of another sampler. ``last_batch`` says how to treat an
    incomplete list: 'keep' it, 'discard' it, or 'rollover' into the next epoch. Raises ValueError
    for others when it is iterated or measured.

    >>> batches = BatchSampler(SequentialSampler(5), 2, "rollover")
    >>> list(batches), list(batches)
    ([[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]])
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch:
            if self._last_batch == "keep":
                yield batch
            elif self._last_batch == "rollover":
                self._prev = batch
            elif self._last_batch != "discard":
                raise self._unknown()

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        if self._last_batch == "discard":
            return count // self._batch_size
        if self._last_batch == "rollover":
            return (count + len(self._prev)) // self._batch_size
        raise self._unknown()

    def _unknown(self) -> ArgumentValueError:
        hint = "'keep', 'discard' or 'rollover'"
        return ArgumentValueError("BatchSampler: last_batch", repr(self._last_batch), hint=hint)
