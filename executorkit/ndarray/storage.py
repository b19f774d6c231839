"""Compiled copies of flat ranges of elements: what views of a larger array read and write.

The buffer behind NDArrays: one immutable ``jax.Array``, what was written over it, and promises.

MXNet's arrays are views of mutable memory. Here a :class:`Storage` owns the current value; a write
of the whole replaces it (a rebinding, no copy), a write to a contiguous part is kept as an
overlay, and overlays are merged into the value only when someone reads across them. So feeding the
smaller view of a larger array, as a reshaped executor does at every step, never copies the larger
one. Contents may also be promised: computed when they are first looked at.

Everything below is in flat element offsets. Values that come in have the right dtype and device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from jax import lax

Shape = tuple[int, ...]


def reshaped(value: jax.Array, shape: Shape) -> jax.Array:
    """``value`` in another shape of the same size, without work when it has it already."""
    if value.shape == shape:
        return value
    with jax.enable_x64(True):
        return _reshape(value, shape)


@partial(jax.jit, static_argnums=1)
def _reshape(value: jax.Array, shape: Shape) -> jax.Array:
    return lax.reshape(value, shape)


@partial(jax.jit, static_argnums=2)
def slice_flat(value: jax.Array, start: jax.Array, shape: Shape) -> jax.Array:
    """The elements of a flat range, in the given shape."""
    flat = lax.reshape(value, (value.size,))
    return lax.reshape(lax.dynamic_slice(flat, (start,), (math.prod(shape),)), shape)


def _update(base: jax.Array, part: jax.Array, start: jax.Array) -> jax.Array:
    flat = lax.reshape(base, (base.size,))
    flat = lax.dynamic_update_slice(flat, lax.reshape(part, (part.size,)), (start,))
    return lax.reshape(flat, base.shape)


#: One part at a time: a program for all parts at once would be compiled for each number of them.
update_flat = jax.jit(_update)
update_flat_donated = jax.jit(_update, donate_argnums=0)


Producer = Callable[[], object]

#: So many parts may be written before they are merged, lest reads search long lists.
MAX_OVERLAYS = 16


class Overlay:
    """A part ``[start, stop)`` of a storage: a newer value of it, or the promise of one."""

    __slots__ = ("producer", "start", "stop", "value")

    def __init__(
        self, start: int, stop: int, value: jax.Array | None, producer: Producer | None
    ) -> None:
        self.start = start
        self.stop = stop
        self.value = value
        self.producer = producer


class LazyContents:
    """The promise of a storage's first contents."""

    __slots__ = ("make", "storage")

    #: Where the contents come from: nothing that has to be computed.
    source = None

    def __init__(self, storage: Storage, make: Callable[[], jax.Array]) -> None:
        self.storage = storage
        self.make = make

    def __call__(self) -> None:
        self.storage.assign(self.make())


class Storage:
    """The shared, mutable part of NDArrays that view the same elements.

    value
        the contents, of shape ``shape``; None while they are promised or partly overwritten.
    promise
        computes the contents: calling it must assign them (or write over them).
    shared
        whether anyone but this storage may hold the value, so that it must not be donated.
    version
        changes with every write; views keep what they have read until it does.
    """

    __slots__ = (
        "__weakref__",
        "_base",
        "_overlays",
        "dtype",
        "producer",
        "shape",
        "shared",
        "size",
        "value",
        "version",
    )

    def __init__(
        self, shape: Shape, dtype: np.dtype, value: jax.Array | None = None, shared: bool = False,
        producer: Producer | None = None,
    ) -> None:  # fmt: skip
        self.value = value
        self.shape = shape
        self.size = math.prod(shape)
        self.dtype = dtype
        self.producer = producer
        self.shared = shared
        self.version = 0
        self._base: jax.Array | None = None
        self._overlays: list[Overlay] = []

    @classmethod
    def later(cls, shape: Shape, dtype: np.dtype, make: Callable[[], jax.Array]) -> Storage:
        """A storage whose first contents are made when someone reads them."""
        self = cls(shape, dtype)
        self.producer = LazyContents(self, make)
        return self

    def assign(self, value: jax.Array, shared: bool = False) -> None:
        """Replaces the whole contents; whatever was promised is cancelled."""
        self.value = value
        self.shared = shared
        self.version += 1
        self.producer = None
        if self._overlays:
            self._overlays.clear()
            self._base = None

    def defer(self, producer: Producer) -> None:
        """The whole contents will come from ``resolve()``."""
        self.value = None
        self.producer = producer
        self.version += 1
        if self._overlays:
            self._overlays.clear()
            self._base = None

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Assigns ``value`` if ``resolve`` is still what the whole contents come from."""
        if self.producer != producer:
            return False
        self.value = value
        self.producer = None
        self.shared = False
        self.version += 1
        return True

    def write(
        self, start: int, shape: Shape, value: jax.Array | None, producer: Producer | None = None
    ) -> None:
        """Writes the elements from ``start`` on, or promises them (with ``value`` None)."""
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
        self._overlays = [o for o in self._overlays if o.start < start or o.stop > stop]
        self._keep_promises(start, stop)
        if self.value is not None:
            self._base, self.value = self.value, None
        self._overlays.append(Overlay(start, stop, value, producer))
        self.version += 1
        if len(self._overlays) > MAX_OVERLAYS:
            self._merge()

    def whole(self) -> jax.Array:
        """All elements, in the storage's own shape."""
        if self.producer is not None:
            self._keep(self.producer)
        value = self.value
        return self.read(0, self.shape) if value is None else value

    def read(self, start: int, shape: Shape) -> jax.Array:
        """The elements from ``start`` on, in the given shape."""
        size = math.prod(shape)
        stop = start + size
        self._keep_promises(start, stop)
        source, offset = self.value, start
        if source is None:
            over = [o for o in self._overlays if o.start < stop and start < o.stop]
            if not over:
                source = self._base
            elif over[-1].start <= start and stop <= over[-1].stop:
                source, offset = over[-1].value, start - over[-1].start
            else:
                self._merge()
                source = self.value if self.value is not None else self._base
        assert source is not None
        if source.size == size:
            return reshaped(source, shape)
        with jax.enable_x64(True):
            if next(iter(source.devices())).platform == "cpu":
                # Which needs no program for this shape. A copy, lest JAX keep the larger buffer.
                flat = np.asarray(source).reshape(-1)
                return jax.device_put(
                    flat[offset : offset + size].reshape(shape).copy(), source.sharding
                )
            return slice_flat(source, np.int64(offset), shape)

    def promised(self, start: int, shape: Shape) -> Producer | None:
        """The promise that exactly these elements come from, if it is not kept or cancelled."""
        size = math.prod(shape)
        if size == self.size:
            return self.producer
        for o in self._overlays:
            if (o.start, o.stop) == (start, start + size):
                return o.producer
        return None

    def awaited(self, start: int, shape: Shape) -> Producer | None:
        """A promise that reading these elements would have kept; None if they are all there."""
        if self.producer is not None:
            return self.producer
        stop = start + math.prod(shape)
        for o in self._overlays:
            if o.producer is not None and o.start < stop and start < o.stop:
                return o.producer
        return None

    def _keep_promises(self, start: int, stop: int) -> None:
        """Resolves whatever is promised between ``start`` and ``stop``."""
        if self.producer is not None:
            self._keep(self.producer)
        for o in tuple(self._overlays):
            if o.producer is not None and o.start < stop and start < o.stop:
                o.producer()
                if o in self._overlays:
                    raise RuntimeError("a promised NDArray was not assigned by its promise")

    def _keep(self, producer: Producer) -> None:
        """Resolves the promise of the whole contents."""
        producer()
        if self.producer is producer:
            raise RuntimeError("a promised NDArray was not assigned by its promise")

    def _merge(self) -> None:
        """Writes the overlays that have values into one new value; promises stay over it."""
        written = [o for o in self._overlays if o.value is not None]
        if not written:
            return
        merged, update = self._base, update_flat
        with jax.enable_x64(True):
            for o in written:
                merged, update = update(merged, o.value, np.int64(o.start)), update_flat_donated
        self.shared = False
        self._overlays = [o for o in self._overlays if o.value is None]
        if self._overlays:
            self._base = merged
        else:
            self.value, self._base = merged, None
