"""Batches of records, decoded by threads ahead of their use."""

import math
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ._record_decoder import ExampleDecoder
from ._record_source import RecordFiles

#: Maximum number of examples that one of several threads decodes before it takes others.
_STRIP = 8
#: Examples per seed of augmentation whose random draws differ.
_EXAMPLES_PER_SEED = 1 << 48
#: Alignment in bytes from which a device array on the CPU uses an array's memory without a copy.
_ALIGNMENT = 64


class HostBuffers:
    """Arrays of one shape and dtype, over memory that is used again once nothing refers to it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._size = math.prod(shape) * self._dtype.itemsize
        self._free: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        memory = self._free.pop() if self._free else self._allocate()
        # Every array over the memory, a device's too, refers to the one made from a memoryview.
        owner = np.frombuffer(memory.data, self._dtype)
        weakref.finalize(owner, self._free.append, memory).atexit = False
        return owner.reshape(self._shape)

    def _allocate(self) -> np.ndarray:
        memory = np.empty(self._size + _ALIGNMENT, np.uint8)
        begin = -memory.ctypes.data % _ALIGNMENT
        return memory[begin : begin + self._size]


@dataclass(frozen=True)
class BatchPlan:
    """The records of a batch, the number of examples that fill it up at its end, and the running
    number of its first example. Positions without a record stay zero."""

    offsets: list[int]
    pad: int
    first: int
    wrapped: bool = False


@dataclass
class HostBatch:
    plan: BatchPlan
    data: np.ndarray
    label: np.ndarray
    index: np.ndarray
    result: Future[Any] = field(default_factory=Future)
    cancelled: bool = False
    #: Number of strips that are not decoded yet.
    remaining: int = 0
    #: Errors by position in the batch.
    errors: dict[int, BaseException] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class RecordPipeline:
    """Decodes the batches of plans ahead in threads; ``finish`` is called with each HostBatch, and
    :meth:`next` returns its value."""

    def __init__(
        self,
        files: RecordFiles,
        decoder: ExampleDecoder,
        finish: Callable[[HostBatch], Any],
        *,
        shape: tuple[int, ...],
        dtype: np.dtype,
        threads: int,
        ahead: int,
        seed: int,
    ) -> None:
        self._files, self._decoder, self._finish = files, decoder, finish
        self._shape, self._seed = shape, seed
        self._buffers = HostBuffers(shape, dtype)
        self._ahead = max(ahead, 1)
        self._strip = shape[0] if threads == 1 else min(_STRIP, -(-shape[0] // threads))
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="image-records")
        self._batches: deque[HostBatch] = deque()
        self._plans: Iterator[BatchPlan] = iter(())
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def start(self, plans: Iterator[BatchPlan]) -> None:
        # Batches of the last plans that were not taken are dropped.
        for batch in self._batches:
            batch.cancelled = True
        self._batches.clear()
        self._plans = plans
        self._fill()

    def next(self) -> tuple[BatchPlan, Any] | None:
        self._fill()
        if not self._batches:
            return None
        batch = self._batches.popleft()
        self._fill()
        return batch.plan, batch.result.result()

    def _fill(self) -> None:
        while len(self._batches) < self._ahead:
            plan = next(self._plans, None)
            if plan is None:
                return
            self._batches.append(self._submit(plan))

    def _submit(self, plan: BatchPlan) -> HostBatch:
        size = self._shape[0]
        data = self._buffers.take()
        data[len(plan.offsets) :] = 0
        label = np.zeros((size, *self._decoder.label_shape), np.float32)
        batch = HostBatch(plan, data, label, np.zeros(size, np.uint64))
        starts = range(0, len(plan.offsets), self._strip)
        batch.remaining = len(starts)
        for start in starts:
            self._pool.submit(self._decode, batch, start)
        return batch

    def _decode(self, batch: HostBatch, start: int) -> None:
        position, random = start, Random(0)
        try:
            while position < min(start + self._strip, len(batch.plan.offsets)):
                if batch.cancelled:
                    return
                random.seed(self._seed * _EXAMPLES_PER_SEED + batch.plan.first + position)
                offset = batch.plan.offsets[position]
                record, where = self._files.read(offset), self._files.name(offset)
                label = batch.label[position : position + 1].reshape(self._decoder.label_shape)
                index = self._decoder.decode(record, where, random, batch.data[position], label)
                batch.index[position] = index
                position += 1
        except BaseException as error:  # raised where the batch is taken
            batch.errors[position] = error
        with batch.lock:
            batch.remaining -= 1
            complete = not batch.remaining
        if complete:
            self._complete(batch)

    def _complete(self, batch: HostBatch) -> None:
        if batch.errors:
            batch.result.set_exception(batch.errors[min(batch.errors)])
            return
        try:
            batch.result.set_result(self._finish(batch))
        except BaseException as error:
            batch.result.set_exception(error)
