"""The buffer behind NDArrays: one immutable ``jax.Array``, newer parts of it, deferred contents.

MXNet's arrays are views of mutable memory. Here a :class:`Storage` owns the current value. A write
of the whole replaces it; a write to a contiguous part is stored as an overlay, which is merged only
when a read crosses it. So feeding the smaller view of a larger array, as a reshaped executor does
at every step, never copies the larger one. Contents may also be deferred to a producer.

Positions are flat element offsets. Incoming values have the right dtype and device.

An exception, a KeyboardInterrupt for instance, may come between any two assignments of these
methods; by their order the storage then holds either its former or its new contents.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from ..jax_internals import in_x64
from ..program import HostResult, MadeContents, made, small_jit
from .protocol import PendingValue, Producer

Shape = tuple[int, ...]

#: Maximum number of overlays of a storage; more are merged, since every read searches the list.
MAX_OVERLAYS = 16


def reshaped(value: jax.Array, shape: Shape) -> jax.Array:
    if value.shape == shape:
        return value
    return _reshape(value, shape)


@small_jit(static_argnums=1)
def _reshape(value: jax.Array, shape: Shape) -> jax.Array:
    return lax.reshape(value, shape)


@small_jit(static_argnums=2)
def slice_flat(value: jax.Array, start: jax.Array, shape: Shape) -> jax.Array:
    flat = lax.reshape(value, (value.size,))
    return lax.reshape(lax.dynamic_slice(flat, (start,), (math.prod(shape),)), shape)


def _update(base: jax.Array, part: jax.Array, start: jax.Array) -> jax.Array:
    flat = lax.reshape(base, (base.size,))
    flat = lax.dynamic_update_slice(flat, lax.reshape(part, (part.size,)), (start,))
    return lax.reshape(flat, base.shape)


#: One part at a time: a program for all parts at once would be compiled for each number of them.
update_flat = small_jit(_update)
update_flat_donated = small_jit(_update, jit_options={"donate_argnums": 0})


class Overlay:
    """A part ``[start, stop)`` of a storage: a newer value of it, or its producer."""

    __slots__ = ("producer", "start", "stop", "value")

    def __init__(
        self, start: int, stop: int, value: jax.Array | None, producer: Producer | None
    ) -> None:
        self.start = start
        self.stop = stop
        self.value = value
        self.producer = producer


class LazyContents(MadeContents):
    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], jax.Array]) -> None:
        self.host = None
        self._make = make

    def make(self) -> jax.Array:
        return self._make()


class Storage:
    """The shared, mutable part of NDArrays that view the same elements: a pending value."""

    __slots__ = (
        "__weakref__",
        "_base",
        "_overlays",
        "current",
        "dtype",
        "producer",
        "shape",
        "shared",
        "version",
    )

    def __init__(
        self, shape: Shape, dtype: np.dtype, value: jax.Array | None = None, shared: bool = False,
        producer: Producer | MadeContents | None = None,
    ) -> None:  # fmt: skip
        #: The contents, of shape ``shape``; None while they are deferred or partly overwritten.
        self.current = value
        self.shape = shape
        self.dtype = dtype
        #: Computes the contents: calling it must assign them (or write over them).
        self.producer = producer
        #: True if the buffer may be held elsewhere, so that it must not be donated.
        self.shared = shared
        #: Changes with every write; views cache what they have read until it does.
        self.version = 0
        self._base: jax.Array | None = None
        self._overlays: list[Overlay] = []

    @classmethod
    def lazy(cls, shape: Shape, dtype: np.dtype, make: Callable[[], jax.Array]) -> Storage:
        return cls(shape, dtype, producer=LazyContents(make))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def value(self) -> jax.Array:
        if self.producer is not None:
            self._run(self.producer)
        value = self.current
        return self.read(0, self.shape) if value is None else value

    def compute(self) -> None:
        """Computes the whole contents, if they are pending, without making them."""
        if self.producer is not None and not isinstance(self.producer, MadeContents):
            self._run(self.producer)

    @property
    def pending(self) -> Producer | None:
        producer = self.producer
        return self.pending_in(0, self.shape) if producer is None else producer.source

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        self.shared = self.shared or shared
        self.version += 1
        self.current = value
        self.producer = None
        if self._overlays:
            self._overlays = []
            self._base = None
        self.shared = shared

    def defer(self, producer: Producer | MadeContents) -> None:
        self.version += 1
        self.producer = producer
        self.current = None
        if self._overlays:
            self._overlays = []
            self._base = None

    def set_result(self, producer: Producer, value: Any) -> bool:
        if self.producer is not producer:
            return False
        is_array = value.__class__ is not HostResult
        self.version += 1
        self.current = value if is_array else None
        self.shared = False
        self.producer = None if is_array else value
        return True

    def write(
        self, start: int, shape: Shape, value: jax.Array | None, producer: Producer | None = None
    ) -> None:
        """Writes the elements from ``start`` on, or defers them (with ``value`` None)."""
        size = math.prod(shape)
        if size == self.size:
            if value is None:
                assert producer is not None
                self.defer(producer)
            else:
                self.assign(reshaped(value, self.shape))
            return
        if not size:
            return
        stop = start + size
        # Those that the part covers are replaced: their producers need not run.
        self._run_producers(start, stop, uncovered=True)
        self.version += 1
        overlays = [o for o in self._overlays if o.start < start or o.stop > stop]
        overlays.append(Overlay(start, stop, value, producer))
        if self.current is not None:
            self._base = self.current
            self._overlays = overlays
            self.current = None
        else:
            self._overlays = overlays
        if len(self._overlays) > MAX_OVERLAYS:
            self._merge()

    def read(self, start: int, shape: Shape) -> jax.Array:
        size = math.prod(shape)
        stop = start + size
        self._run_producers(start, stop)
        buffer, offset = self.current, start
        if buffer is None:
            overlapping = [o for o in self._overlays if o.start < stop and start < o.stop]
            if not overlapping:
                buffer = self._base
            elif overlapping[-1].start <= start and stop <= overlapping[-1].stop:
                buffer, offset = overlapping[-1].value, start - overlapping[-1].start
            else:
                self._merge()
                buffer = self.current if self.current is not None else self._base
        if buffer is None:  # another thread has deferred them meanwhile, or computed them since
            assert self.producer is not None or self._overlays or self.current is not None
            return self.read(start, shape)
        if buffer.size == size:
            return reshaped(buffer, shape)
        if next(iter(buffer.devices())).platform == "cpu":
            # NumPy needs no program for this shape. A copy: JAX would hold the larger buffer.
            flat = np.asarray(buffer).reshape(-1)
            part = flat[offset : offset + size].reshape(shape).copy()
            return in_x64(jax.device_put)(part, buffer.sharding)
        return slice_flat(buffer, np.int64(offset), shape)

    def wait(self, start: int, shape: Shape) -> None:
        if isinstance(self.producer, MadeContents):
            return
        if self.current is None:
            self._run_producers(start, start + math.prod(shape))
        for value in (self.current, self._base, *[o.value for o in self._overlays]):
            if value is not None:
                value.block_until_ready()

    def producer_of(self, start: int, shape: Shape) -> Producer | MadeContents | None:
        """Returns the producer of exactly these elements, None if they came otherwise."""
        size = math.prod(shape)
        if size == self.size:
            return self.producer
        for o in self._overlays:
            if (o.start, o.stop) == (start, start + size):
                return o.producer
        return None

    def pending_in(self, start: int, shape: Shape) -> Producer | None:
        """Returns a producer that reading these elements would run; None if they are computed."""
        if self.producer is not None:
            return self.producer.source
        stop = start + math.prod(shape)
        for o in self._overlays:
            if o.producer is not None and o.start < stop and start < o.stop:
                return o.producer.source
        return None

    def _run_producers(self, start: int, stop: int, uncovered: bool = False) -> None:
        if self.producer is not None:
            self._run(self.producer)
        for o in tuple(self._overlays):
            if uncovered and start <= o.start and o.stop <= stop:
                continue
            if o.producer is not None and o.start < stop and start < o.stop:
                o.producer()
                if o in self._overlays:
                    raise RuntimeError("the producer of a deferred NDArray did not assign it")

    def _run(self, producer: Producer | MadeContents) -> None:
        if isinstance(producer, MadeContents):
            value = producer.make()
            if self.producer is producer:
                self.current = value
                self.shared = False
                self.producer = None
            return
        producer()
        if self.producer is producer:
            raise RuntimeError("the producer of a deferred NDArray did not assign it")

    def _merge(self) -> None:
        written = [o for o in self._overlays if o.value is not None]
        if not written:
            return
        merged, update = self._base, update_flat
        for o in written:
            merged, update = update(merged, o.value, np.int64(o.start)), update_flat_donated
        deferred = [o for o in self._overlays if o.value is None]
        if deferred:
            self._base = merged
            self._overlays = deferred
        else:
            self.current = merged
            self._overlays = []
            self._base = None
        self.shared = False


class PackedArrays:
    """The producer of parts of one array, which the first read splits. Holds the parts weakly."""

    __slots__ = ("__weakref__", "_arrays", "_packed", "_shapes")

    source = None
    copies = False

    def __init__(self, packed: jax.Array, arrays: Sequence[Any]) -> None:
        self._packed = packed
        self._arrays = list(map(weakref.ref, arrays))
        self._shapes = [x.shape for x in arrays]

    def __call__(self) -> None:
        packed, start = self._packed, 0
        whole = Storage(packed.shape, packed.dtype, made([packed])[0])
        for reference, shape in zip(self._arrays, self._shapes, strict=True):
            x = reference()
            if x is not None:
                x.set_result(self, whole.read(start, shape))
            start += math.prod(shape)

    force = __call__


def defer_all(arrays: Iterable[PendingValue], producer: Producer) -> None:
    """Defers the contents of arrays, of storages without a call for each."""
    for x in arrays:
        if isinstance(x, Storage) and not x._overlays:
            x.version += 1
            x.producer = producer
            x.current = None
        else:
            x.defer(producer)


def set_results(arrays: Sequence[PendingValue], producer: Producer, values: Sequence[Any]) -> None:
    """Assigns the results of a producer to the arrays that still wait for it. An additional
    last result packs the contents of the arrays whose result is None."""
    packed, n = None, len(arrays)
    if len(values) > n:
        packed = PackedArrays(values[n], [x for k, x in enumerate(arrays) if values[k] is None])
    for x, value in zip(arrays, values[:n], strict=True):
        if isinstance(x, Storage) and x.producer is producer:
            is_array = value is not None and value.__class__ is not HostResult
            x.version += 1
            x.current = value if is_array else None
            x.shared = False
            x.producer = None if is_array else value or packed
        elif value is not None:
            x.set_result(producer, value)
        elif packed is not None and x.pending is producer:
            x.defer(packed)
