"""The records of files in the order of an epoch; the same seed gives MXNet's order."""

import bisect
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import record_format as records
from ..errors import DataArgumentError, FileFormatError

#: Length in bytes of the parts of a file that are shuffled by themselves without an index file.
_CHUNK = 8 << 20
_RECORD_SEED, _PART_SEED = 111, 666


class RecordFiles:
    """The records of files, a folder of files, or several of them separated by ';'. Raises OSError
    if a file cannot be read, ValueError if it is empty."""

    def __init__(self, path: str) -> None:
        self._files = [records.RecordFile(p) for entry in path.split(";") for p in _files(entry)]
        self._begins = [0]
        for file in self._files:
            self._begins.append(self._begins[-1] + file.size)
        self.size = self._begins[-1]
        if not self.size:
            raise FileFormatError(path, "it is empty, expected records")

    def read(self, offset: int) -> bytes:
        number = self._file(offset)
        record = records.decode_record(self._files[number], offset - self._begins[number])
        return record.content if record is not None else b""

    def name(self, offset: int) -> str:
        number = self._file(offset)
        return f"{self._files[number].path}, offset {offset - self._begins[number]}"

    def _file(self, offset: int) -> int:
        return bisect.bisect_right(self._begins, offset, 0, len(self._begins) - 1) - 1

    def offsets(self, begin: int, end: int) -> Iterator[int]:
        for number, first in enumerate(self._begins[:-1]):
            last = self._begins[number + 1]
            if begin < last and end > first:
                low, high = max(begin, first) - first, min(end, last) - first
                for offset in records.record_offsets(self._files[number], low, high):
                    yield first + offset

    def partition(self, parts: int, index: int) -> tuple[int, int]:
        length = -(-self.size // parts)
        length += -length % 4
        begin, end = (self._record_from(min(length * i, self.size)) for i in (index, index + 1))
        return begin, end

    def _record_from(self, offset: int) -> int:
        if offset in (0, self.size):
            return offset
        number = self._file(offset)
        begin = self._begins[number]
        return begin + records.next_record(self._files[number], offset - begin)


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        return [p for n in sorted(os.listdir(path)) if os.path.isfile(p := os.path.join(path, n))]
    return [path]


@dataclass(frozen=True)
class Order:
    parts: int = 1
    part: int = 0
    shuffle: bool = False
    seed: int = 0
    #: MiB of a part that is read as a whole, parts in random order; 0 for none.
    chunk_size: int = 0
    chunk_seed: int = 0
    #: The index file, or ''.
    index: str = ""

    def check(self, where: str) -> None:
        if not 0 <= self.part < self.parts:
            problem = f"{self.part}, expected one of 0 to num_parts - 1"
            because = f"num_parts is {self.parts}"
            raise DataArgumentError(f"{where}: part_index", problem, because=because)


def epochs(files: RecordFiles, order: Order) -> Iterator[Iterator[int]]:
    generator = np.random.RandomState((_RECORD_SEED + order.seed) % 2**32)
    if order.index:
        offsets = sorted(offset for _, offset in records.read_index(order.index))
        if not offsets or offsets[-1] >= files.size:
            problem = "it has no entries" if not offsets else f"offset {offsets[-1]} of a record"
            because = f"the records end at offset {files.size}" if offsets else None
            raise FileFormatError(order.index, problem, because=because)
        count = -(-len(offsets) // order.parts)
        offsets = offsets[count * order.part : count * (order.part + 1)]
        while True:
            yield iter(_shuffled(offsets, generator) if order.shuffle else offsets)
    parts = 1
    if order.chunk_size:
        parts = max(1, math.ceil(files.size * 1.1 / (order.parts * (order.chunk_size << 20))))
    part_seed = _PART_SEED + order.part + order.parts + parts + order.chunk_seed
    part_generator = np.random.RandomState(part_seed % 2**32)
    numbers = list(range(parts))
    while True:
        if parts > 1:
            shuffle_in_place(numbers, part_generator)
        yield _epoch(files, order, list(numbers), generator)


def _epoch(
    files: RecordFiles, order: Order, numbers: list[int], generator: np.random.RandomState
) -> Iterator[int]:
    parts = len(numbers)
    for number in numbers:
        begin, end = files.partition(order.parts * parts, order.part * parts + number)
        if not order.shuffle:
            yield from files.offsets(begin, end)
            continue
        for chunk in _chunks(files, begin, end):
            yield from _shuffled(chunk, generator)


def _shuffled(offsets: list[int], generator: np.random.RandomState) -> list[int]:
    copy = list(offsets)
    shuffle_in_place(copy, generator)
    return copy


def _chunks(files: RecordFiles, begin: int, end: int) -> Iterator[list[int]]:
    # Like a buffer that is refilled: its last record is left for the next one.
    remaining: list[int] = []
    size = _CHUNK
    for offset in files.offsets(begin, end):
        # A header of 8 bytes is recognised if it is whole in the buffer.
        while remaining and end - remaining[0] >= size and offset + 8 > remaining[0] + size:
            if len(remaining) > 1:
                yield remaining[:-1]
                del remaining[:-1]
                size = _CHUNK
            else:
                size *= 2
        remaining.append(offset)
    while len(remaining) > 1 and end - remaining[0] >= size:
        yield remaining[:-1]
        del remaining[:-1]
    if remaining:
        yield remaining


def shuffle_in_place(values: list[Any], generator: np.random.RandomState) -> None:
    """Shuffles a list as C++'s ``std::shuffle`` with a Mersenne twister does: element i is
    exchanged with one of the elements up to i."""
    limits = np.arange(2, len(values) + 1, dtype=np.uint64)
    intervals = np.uint64(2**32 - 1) // limits
    draws = generator.randint(0, 2**32, max(len(values) - 1, 0), np.uint32).astype(np.uint64)
    # Each discarded draw moves all later ones up by one.
    while (discarded := np.flatnonzero(draws // intervals >= limits)).size:
        replacement = generator.randint(0, 2**32, 1, np.uint32).astype(np.uint64)
        draws = np.concatenate([np.delete(draws, discarded[0]), replacement])
    for i, j in enumerate((draws // intervals).tolist(), start=1):
        values[i], values[j] = values[j], values[i]
