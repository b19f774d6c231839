"""Reading and writing parts of an NDArray by index.

As in MXNet: integers, slices, None and Ellipsis that select contiguous elements give a view, which
writes through; all others give a copy. An index of integers only gives shape (1,). Lists, NumPy
arrays and NDArrays are integer indices even when they hold booleans (0 and 1): MXNet has no
boolean masks here, ``nd.contrib.boolean_mask`` selects. Writing beyond an axis by such an index is
an error; MXNet writes to memory that is not the array's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import jax
import numpy as np
from jax import lax

from ..errors import explain
from ._handle import Handle
from ._keys import AdvancedIndex, BasicIndex, contiguous_offset, parse
from ._storage import Shape
from ._values import fit, to_device


class Indexing(Handle):
    """``x[key]`` and ``x[key] = value``."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        part = parse(key, self._shape)
        if isinstance(part, AdvancedIndex):
            arrays, layout = _split(part.key)
            with jax.enable_x64(True):
                value = _gather(self.value, arrays, layout)
            return self.from_jax(value, self._context, shared=False)
        if not math.prod(part.lengths):
            empty = np.zeros(part.shape, self.storage.dtype)
            return self.from_jax(to_device(empty, self._context.device), self._context)
        offset = contiguous_offset(part, self._shape)
        if offset is not None:
            return self.flat_view(part.shape, offset)
        with jax.enable_x64(True):
            value = _read_ranges(self.value, *_ranges(part), part.shape)
        return self.from_jax(value, self._context, shared=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        device, dtype = self._context.device, self.storage.dtype
        if isinstance(key, slice) and key.start is key.stop is key.step is None and self._shape:
            self.assign(*fit(value, self._shape, dtype, device, "assignment to NDArray"))
            return
        part = parse(key, self._shape)
        new, shared = fit(value, part.shape, dtype, device, "assignment to NDArray")
        if isinstance(part, AdvancedIndex):
            arrays, layout = _split(part.key)
            with jax.enable_x64(True):
                self.assign(_scatter(self.value, new, arrays, layout))
            return
        if not math.prod(part.lengths):
            return
        offset = contiguous_offset(part, self._shape)
        if offset is not None:
            target = self if part.shape == self._shape else self.flat_view(part.shape, offset)
            target.assign(new, shared)
            return
        with jax.enable_x64(True):
            self.assign(_write_ranges(self.value, new, *_ranges(part)))

    def __len__(self) -> int:
        if not self._shape:
            raise IndexError(explain("NDArray", "an array without axes has no length"))
        return self._shape[0]

    def __iter__(self) -> Iterator[Self]:
        for i in range(len(self)):
            yield self[i]


def _split(key: tuple[Any, ...]) -> tuple[tuple[np.ndarray, ...], tuple[Any, ...]]:
    """A key's index arrays, and its layout: hashable, an array's place marked by Ellipsis."""
    arrays = tuple(e for e in key if isinstance(e, np.ndarray))
    layout = tuple(
        Ellipsis if isinstance(e, np.ndarray) else e and (e.start, e.stop, e.step) for e in key
    )
    return arrays, layout


def _joined(arrays: tuple[Any, ...], layout: tuple[Any, ...]) -> tuple[Any, ...]:
    remaining = iter(arrays)
    return tuple(
        next(remaining) if e is Ellipsis else slice(*e) if e is not None else None for e in layout
    )


@partial(jax.jit, static_argnums=2)
def _gather(value: jax.Array, arrays: tuple[Any, ...], layout: tuple[Any, ...]) -> jax.Array:
    return value[_joined(arrays, layout)]


@partial(jax.jit, static_argnums=3)
def _scatter(
    value: jax.Array, new: jax.Array, arrays: tuple[Any, ...], layout: tuple[Any, ...]
) -> jax.Array:
    return value.at[_joined(arrays, layout)].set(new)


def _ranges(part: BasicIndex) -> tuple[tuple[np.int64, ...], tuple[int, ...], tuple[int, ...]]:
    """Lowest index per axis (a value, so that a loop over it compiles once), lengths, steps."""
    starts = tuple(
        np.int64(start + min((length - 1) * step, 0))
        for start, length, step in zip(part.starts, part.lengths, part.steps, strict=True)
    )
    return starts, part.lengths, part.steps


def _spans(lengths: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((n - 1) * abs(step) + 1 for n, step in zip(lengths, steps, strict=True))


def _backwards(steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis, step in enumerate(steps) if step < 0)


@partial(jax.jit, static_argnums=(2, 3, 4))
def _read_ranges(
    value: jax.Array,
    starts: tuple[Any, ...],
    lengths: tuple[int, ...],
    steps: tuple[int, ...],
    shape: Shape,
) -> jax.Array:
    spans = _spans(lengths, steps)
    part = lax.dynamic_slice(value, starts, spans)
    part = lax.slice(part, (0,) * value.ndim, spans, tuple(map(abs, steps)))
    return lax.reshape(lax.rev(part, _backwards(steps)), shape)


@partial(jax.jit, static_argnums=(3, 4))
def _write_ranges(
    value: jax.Array,
    new: jax.Array,
    starts: tuple[Any, ...],
    lengths: tuple[int, ...],
    steps: tuple[int, ...],
) -> jax.Array:
    new = lax.rev(lax.reshape(new, lengths), _backwards(steps))
    spans = _spans(lengths, steps)
    if spans != lengths:
        around = lax.dynamic_slice(value, starts, spans)
        new = around.at[tuple(slice(None, None, abs(step)) for step in steps)].set(new)
    return lax.dynamic_update_slice(value, new, starts)
