"""The handle: the part of NDArray without operators, which executors build on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np

from ..context import Context, current_context
from ..program import MadeContents, deferred_errors, made
from .protocol import PendingValue, Producer
from .storage import Shape, Storage


@lru_cache(maxsize=64)
def _name_of(dtype: np.dtype) -> str:
    return dtype.name


class Handle:
    """A view of a storage's elements from an offset on, in row-major order: a pending value.

    ``covers_storage`` if it shows the whole storage in the storage's own shape, so that reading it
    is reading an attribute. ``graph_entry`` is its entry in recorded graphs (:mod:`.recording`) or
    None.
    """

    __slots__ = (
        "__weakref__",
        "_context",
        "_offset",
        "_seen",
        "_seen_version",
        "_shape",
        "covers_storage",
        "graph_entry",
        "storage",
    )

    #: True for arrays of ``mx.np``, whose elements have shape () and whose masks select.
    has_scalars = False

    storage: Storage
    covers_storage: bool
    _offset: int
    _shape: Shape
    _context: Context
    graph_entry: Any
    _seen: jax.Array | None
    _seen_version: int

    @classmethod
    def from_storage(
        cls, storage: Storage, offset: int, shape: Shape, context: Context, graph_entry: Any = None
    ) -> Self:
        """Returns an NDArray of ``shape`` over the storage's elements from ``offset`` on."""
        self = cls.__new__(cls)
        self.storage = storage
        self._offset = offset
        self._shape = shape
        self._context = context
        self.covers_storage = shape == storage.shape
        self._seen = None
        self._seen_version = -1
        self.graph_entry = graph_entry
        return self

    @classmethod
    def from_jax(
        cls, array: jax.Array, context: Context | None = None, *, shared: bool = True
    ) -> Self:
        """Returns an NDArray of ``array`` on the context's device, without a copy.
        ``shared=False``: the buffer is not held elsewhere, so that it may be donated."""
        self = cls.__new__(cls)
        self._shape = shape = array.shape
        self.storage = Storage(shape, array.dtype, array, shared)
        self._offset = 0
        self._context = current_context() if context is None else context
        self.covers_storage = True
        self._seen = None
        self._seen_version = -1
        self.graph_entry = None
        return self

    def show(self, other: Handle) -> None:
        """Makes this handle a view of the elements that ``other`` shows, in its shape."""
        for slot in Handle.__slots__[1:]:
            setattr(self, slot, getattr(other, slot))

    def flat_view(self, shape: Shape, offset: int = 0) -> Self:
        """Returns a view of the elements from ``offset`` (within this array) on."""
        return self.from_storage(self.storage, self._offset + offset, shape, self._context)

    def shown_in(self, storage: Storage) -> Self:
        """Returns a handle on the same elements of another storage."""
        return self.from_storage(storage, self._offset, self._shape, self._context)

    @property
    def value(self) -> jax.Array:
        """The contents, for use within the package: reading does not forbid donation."""
        if not self.covers_storage:
            return self._read()
        value = self.storage.current
        return self.storage.value if value is None else value

    @property
    def current(self) -> jax.Array | None:
        """The contents if they can be read without any work, else None."""
        if self.covers_storage:
            return self.storage.current
        return self._seen if self._seen_version == self.storage.version else None

    @property
    def host(self) -> np.ndarray:
        """The contents in the host's memory, not to be written to."""
        storage = self.storage
        if storage.producer is not None:
            storage.compute()
        current = storage.current
        if current is None:
            producer = storage.producer
            if isinstance(producer, MadeContents) and producer.host is not None:
                return producer.host if self.covers_storage else self._part_of(producer.host)
        elif self.covers_storage:
            return np.asarray(current)
        elif next(iter(current.devices())).platform == "cpu":
            return self._part_of(np.asarray(current))
        return np.asarray(self.value)

    def _part_of(self, host: np.ndarray) -> np.ndarray:
        return host.reshape(-1)[self._offset : self._offset + self.size].reshape(self._shape)

    @property
    def jax(self) -> jax.Array:
        """The contents as an immutable ``jax.Array``: later writes to this NDArray do not change
        it, and it is never donated to a program."""
        value = self.value
        self.storage.shared = True
        return value

    def _read(self) -> jax.Array:
        storage = self.storage
        if self._seen is not None and self._seen_version == storage.version:
            return self._seen
        value = storage.read(self._offset, self._shape)
        if deferred_errors.open:
            deferred_errors.follow(storage.current, value)
        self._seen, self._seen_version = value, storage.version
        return value

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the contents, without checks and copies; cancels deferred contents.

        ``value`` has this array's shape, dtype and device. ``shared`` says that its buffer is held
        elsewhere.
        """
        if self.covers_storage:
            self.storage.assign(value, shared)
        else:
            self.storage.write(self._offset, self._shape, value)
            if shared:
                self.storage.shared = True

    def defer(self, producer: Producer) -> None:
        """Lets the contents come from ``producer``, which is called when they are needed.

        Any read or partial write through any view calls it; whole assignment cancels it. A producer
        that serves several arrays uses :meth:`set_result`, so that an array assigned in the
        meantime keeps its new contents.
        """
        if self.covers_storage:
            self.storage.defer(producer)
        else:
            self.storage.write(self._offset, self._shape, None, producer)

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Assigns ``value`` if ``producer`` is still what this array waits for."""
        if self.covers_storage:
            return self.storage.set_result(producer, value)
        if self.storage.producer_of(self._offset, self._shape) is not producer:
            return False
        self.assign(*made([value]))
        return True

    @property
    def pending(self) -> Producer | None:
        """The producer that reading would run, None if nothing has to be computed first."""
        return self.storage.pending_in(self._offset, self._shape)

    @property
    def owns_buffer(self) -> bool:
        """True if the buffer is known to be held by this array's storage alone."""
        return self.covers_storage and not self.storage.shared

    if TYPE_CHECKING:

        @property
        def shape(self) -> Shape: ...
        @property
        def context(self) -> Context: ...
        @property
        def ctx(self) -> Context: ...
        @property
        def dtype(self) -> Any: ...
    else:  # without a Python function: executors read them at every step
        shape = property(attrgetter("_shape"), doc="The lengths of the axes.")
        context = property(
            attrgetter("_context"), doc="The context whose device holds the elements."
        )
        ctx = context
        dtype = property(
            attrgetter("storage.dtype.type"),
            doc="The element type, as NumPy's scalar class (``numpy.float32``).",
        )

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def dtype_name(self) -> str:
        """The element type's name, such as "float32"."""
        return _name_of(self.storage.dtype)

    @property
    def stype(self) -> str:
        """'default': arrays are dense."""
        return "default"

    def asnumpy(self) -> np.ndarray:
        """Returns a NumPy copy of the contents; an error in their computation is raised here."""
        host = self.host
        if deferred_errors.open:
            deferred_errors.raise_for(self.value)
        return np.array(host)


def buffers_of(arrays: Iterable[Any]) -> list[PendingValue]:
    """Returns the storages that NDArrays cover, which are quicker to read; others as they are."""
    return [x.storage if isinstance(x, Handle) and x.covers_storage else x for x in arrays]
