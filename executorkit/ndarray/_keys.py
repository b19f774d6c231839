"""What ``x[key]`` means for an array of some shape: ranges per axis, or integers per axis."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from ..errors import explain
from ._handle import Handle
from ._storage import Shape

_Array = np.ndarray | Handle | list | range | jax.Array


class BasicIndex(NamedTuple):
    """A part given by ranges: start, length and step per axis, and the shape of the result."""

    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    shape: Shape


class AdvancedIndex(NamedTuple):
    """A part given by index arrays: per entry of the key a slice, None, or integers."""

    key: tuple[Any, ...]
    shape: Shape


def parse(key: Any, shape: Shape) -> BasicIndex | AdvancedIndex:
    """What an index means for an array of ``shape``.

    IndexError for an index beyond its axis, for too many, and for a second Ellipsis; ValueError
    for what cannot be an index.
    """
    if not shape and isinstance(key, slice) and key == slice(None):
        key = ()
    entries = [_entry(k) for k in (key if isinstance(key, tuple) else (key,))]
    entries = _expand(entries, shape)
    if any(isinstance(e, np.ndarray) for e in entries):
        return _advanced(entries, shape)
    return _basic(entries, shape)


def _entry(k: Any) -> Any:
    """One entry of a key as None, Ellipsis, a slice, an int, or an integer array."""
    if k is None or k is Ellipsis:
        return k
    if isinstance(k, slice):
        return slice(*(None if i is None else _integer(i) for i in (k.start, k.stop, k.step)))
    if isinstance(k, _Array):
        host = k.asnumpy() if isinstance(k, Handle) else np.asarray(k)
        if not host.size:
            host = host.astype(np.int64)
        if host.dtype.kind not in "biuf":
            raise ValueError(_no_index(k))
        return int(host) if not host.ndim else host.astype(np.int64)
    return _integer(k)


def _integer(k: Any) -> int:
    try:
        return operator.index(k)
    except TypeError:
        raise ValueError(_no_index(k)) from None


def _no_index(k: Any) -> str:
    return explain(
        "NDArray",
        f"{k!r} ({type(k).__name__}) is no index",
        hint="integers, slices, ..., None, lists or arrays of integers",
    )


def _expand(entries: list[Any], shape: Shape) -> list[Any]:
    """The entries with one slice or index per axis, Ellipsis and missing ones written out."""
    axes = sum(1 for e in entries if e is not None and e is not Ellipsis)
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError(explain("NDArray", "an index holds more than one ellipsis (...)"))
    if axes > len(shape):
        raise IndexError(explain("NDArray", f"{axes} indices for an array of shape {shape}"))
    at = dots[0] if dots else len(entries)
    full = [slice(None)] * (len(shape) - axes)
    return entries[:at] + full + entries[at + 1 :]


def _axes(entries: list[Any], shape: Shape) -> Iterator[tuple[Any, int, int]]:
    """(entry, axis, length of the axis); None has the axis that follows."""
    axis = 0
    for e in entries:
        yield e, axis, shape[axis] if e is not None else 1
        axis += e is not None


def _in_bounds(lowest: int, highest: int, axis: int, length: int) -> None:
    for i in (lowest, highest):
        if not -length <= i < length:
            raise IndexError(
                explain("NDArray", f"index {i} is out of bounds for axis {axis} of length {length}")
            )


def _basic(entries: list[Any], shape: Shape) -> BasicIndex:
    starts, lengths, steps, result = [], [], [], []
    for e, axis, length in _axes(entries, shape):
        if e is None:
            result.append(1)
            continue
        if isinstance(e, int):
            _in_bounds(e, e, axis, length)
            start, count, step = e % length, 1, 1
        else:
            start, stop, step = e.indices(length)
            count = len(range(start, stop, step))
            result.append(count)
        starts.append(start)
        lengths.append(count)
        steps.append(step if count > 1 else 1)
    if shape and not result:
        result = [1]
    return BasicIndex(tuple(starts), tuple(lengths), tuple(steps), tuple(result))


def _advanced(entries: list[Any], shape: Shape) -> AdvancedIndex:
    for e, axis, length in _axes(entries, shape):
        if isinstance(e, int):
            _in_bounds(e, e, axis, length)
        elif isinstance(e, np.ndarray) and e.size:
            _in_bounds(int(e.min()), int(e.max()), axis, length)
    key = tuple(np.array(e) if isinstance(e, int) else e for e in entries)
    return AdvancedIndex(key, np.broadcast_to(np.int8(0), shape)[key].shape)


def contiguous_offset(part: BasicIndex, shape: Shape) -> int | None:
    """The first element of a part that lies contiguously in memory, else None."""
    whole_from_here = True
    for length, step, dim in reversed(list(zip(part.lengths, part.steps, shape, strict=True))):
        if step != 1 or (length != 1 and not whole_from_here):
            return None
        whole_from_here = whole_from_here and length == dim
    offset = 0
    for start, dim in zip(part.starts, shape, strict=True):
        offset = offset * dim + start
    return offset
