"""Batches that workers send in shared memory.

A batch is pickled without the contents of its arrays, which stay in segments of memory that both
processes have mapped. Segments have no names: the system frees them with the last process, however
processes end. A segment is used again when neither process holds an array in it.
"""

import io
import mmap
import os
import pickle
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

import numpy as np

from ...arrays.storage import Storage
from ...context import Context
from ...ndarray import NDArray
from ...program import HostContents

#: Size in bytes of the contents that are pickled with the batch at most.
_INLINE = 2048
#: Maximum number of free segments that a worker keeps.
_MAX_FREE = 16
_SHARED = Context("cpu_shared", 0)


class Message(NamedTuple):
    """A batch as it is sent: the pickle, or None if it is in the first of the ``parts``; segments
    outside the pickle and the lengths of their contents in bytes; new segments with their lengths,
    which follow; segments that are not used any more."""

    body: bytes | None
    parts: list[tuple[int, int]]
    new: list[tuple[int, int]]
    dropped: list[int]


class _Segment:
    """Mapped memory; ``users`` is the number of processes that hold arrays in it."""

    def __init__(self, number: int, length: int) -> None:
        self.number = number
        self.length = length
        self.users = 0
        self.descriptor: int | None = os.memfd_create("executorkit-batch")
        os.ftruncate(self.descriptor, length)
        self.memory = mmap.mmap(self.descriptor, length)


class Arena:
    """The segments of a worker process; otherwise arrays have their own memory."""

    def __init__(self) -> None:
        self.is_shared = False
        self._segments: dict[int, _Segment] = {}
        #: Segments by the address of an array that was made in them.
        self._made: dict[int, _Segment] = {}
        self._count = 0
        self._new: list[_Segment] = []
        self._dropped: list[int] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = np.empty(0, dtype)
        length = int(np.prod(shape, dtype=np.int64)) * array.itemsize
        if not self.is_shared or length <= _INLINE or array.dtype.hasobject:
            return np.empty(shape, dtype)
        segment = self._segment_for(length)
        root = np.frombuffer(segment.memory, np.uint8, length)
        address = root.ctypes.data
        segment.users += 1
        self._made[address] = segment
        weakref.finalize(root, self._forget, address, segment)
        return root.view(dtype).reshape(shape)

    def _forget(self, address: int, segment: _Segment) -> None:
        self._made.pop(address, None)
        segment.users -= 1

    def release(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            if number in self._segments:
                self._segments[number].users -= 1
        free = [s for s in self._segments.values() if not s.users]
        for segment in free[_MAX_FREE:]:
            self._drop(segment)

    def _drop(self, segment: _Segment) -> None:
        del self._segments[segment.number]
        self._dropped.append(segment.number)

    def _segment_for(self, length: int) -> _Segment:
        free = [s for s in self._segments.values() if not s.users]
        fitting = [s for s in free if s.length >= length]
        if fitting:
            return min(fitting, key=lambda s: s.length)
        if len(free) >= 4:  # batches have grown
            self._drop(min(free, key=lambda s: s.length))
        self._count += 1
        segment = _Segment(self._count, -(-length // mmap.PAGESIZE) * mmap.PAGESIZE)
        self._segments[segment.number] = segment
        self._new.append(segment)
        return segment

    def pack(self, batch: Any) -> Message:
        """Packs a batch into a message; the parent uses its segments from now on."""
        parts: list[tuple[int, int]] = []

        def place(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes <= _INLINE:
                return True
            parts.append(self._place(np.frombuffer(raw, np.uint8)))
            return False

        file = io.BytesIO()
        try:
            _BatchPickler(file, 5, buffer_callback=place).dump(batch)
        except BaseException:
            self.release([number for number, _ in parts])
            raise
        body: bytes | None = file.getvalue()
        if len(file.getvalue()) > 8 * _INLINE:
            parts.append(self._place(np.frombuffer(file.getvalue(), np.uint8)))
            body = None
        new, self._new = self._new, []
        dropped, self._dropped = self._dropped, []
        return Message(body, parts, [(s.number, s.length) for s in new], dropped)

    def _place(self, contents: np.ndarray) -> tuple[int, int]:
        segment = self._made.get(contents.ctypes.data)
        if segment is None or contents.nbytes > segment.length:
            copy = self.empty(contents.shape, contents.dtype)
            copy[:] = contents
            segment = self._made[copy.ctypes.data]
        segment.users += 1
        return segment.number, contents.nbytes

    def send_new(self, message: Message, connection: Connection) -> None:
        for number, _ in message.new:
            segment = self._segments[number]
            assert segment.descriptor is not None
            send_handle(connection, segment.descriptor, os.getppid())
            os.close(segment.descriptor)
            segment.descriptor = None


class _BatchPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, NDArray):
            return shared_array, (np.ascontiguousarray(obj.host).reshape(obj.shape),)
        return NotImplemented


def shared_array(values: np.ndarray) -> NDArray:
    """Returns an NDArray in ``cpu_shared(0)`` with the memory of a NumPy array."""
    contents = HostContents(values, _SHARED)
    storage = Storage(values.shape, values.dtype, producer=contents)
    return NDArray.from_storage(storage, 0, values.shape, _SHARED)


#: The memory of this process's batches.
arena = Arena()


class MappedSegments:
    def __init__(self) -> None:
        self._memory: dict[int, mmap.mmap] = {}
        #: Those that hold no array any more.
        self._released: deque[int] = deque()

    def receive(self, message: Message, connection: Connection) -> None:
        """Maps the new segments of a message, whose descriptors follow it."""
        for number, length in message.new:
            descriptor = recv_handle(connection)
            try:
                self._memory[number] = mmap.mmap(descriptor, length)
            finally:
                os.close(descriptor)
        for number in message.dropped:
            self._memory.pop(number, None)

    def unpack(self, message: Message) -> Any:
        buffers = []
        for number, length in message.parts:
            root = np.frombuffer(self._memory[number], np.uint8, length)
            weakref.finalize(root, self._released.append, number).atexit = False
            buffers.append(root)
        body = buffers.pop() if message.body is None else message.body
        return pickle.loads(body, buffers=buffers)

    def discard(self, message: Message) -> None:
        self._released.extend(number for number, _ in message.parts)

    def take_released(self) -> list[int]:
        """Returns the segments that hold no array any more, for the worker, each once."""
        return [self._released.popleft() for _ in range(len(self._released))]
