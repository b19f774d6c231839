"""Reading and writing parts of an NDArray by index.

As in MXNet: integers, slices, None and Ellipsis that select contiguous elements give a view, which
writes through; all others give a copy. An index of integers only gives shape (1,), or under
``mx.np_shape()`` (). Lists, tuples within a tuple, NumPy arrays and NDArrays are integer indices
even when they hold booleans (0, 1): ``nd.contrib.boolean_mask`` selects. An index beyond an axis is
an error (MXNet reads and writes other memory), and a None after a list stands where NumPy has it
(in MXNet an axis before).
"""

import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jax import lax

from .._support.shape_semantics import numpy_shapes
from ..arrays.handle import Handle
from ..arrays.storage import Shape
from ..arrays.values import fit, to_device
from ..calls.recording import check_unrecorded, is_recorded, modes
from ..calls.resolved_calls import call_of
from ..calls.ways import call
from ..errors import ArgumentValueError, ShapeError, ValueRangeError, explain
from ..program import small_jit

Array = TypeVar("Array", bound=Handle)

_ARRAY_TYPES = np.ndarray | Handle | list | range | jax.Array
_WHOLE = slice(None)


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


def parse_index(
    key: Any, shape: Shape, scalars: bool = False, ordered: bool = False
) -> BasicIndex | AdvancedIndex:
    """Returns the part of an array of ``shape`` that an index selects. With ``scalars``, as in
    NumPy, integers alone select an element of shape (), and arrays of booleans are masks; True
    and False, of shape (), add a first axis of length 1 or 0.

    IndexError for an index beyond its axis, for too many, and for a second Ellipsis; ValueError for
    an entry that cannot be an index, and with ``ordered`` for a range that ends before it starts.
    """
    if not shape and isinstance(key, slice) and key == slice(None):
        key = ()
    keys = key if isinstance(key, tuple) else (key,)
    flags = [k for k in keys if _is_flag(k)] if scalars else []
    if flags and shape:
        rest = tuple(k for k in keys if not _is_flag(k))
        part = parse_index((None, *rest), shape, scalars)
        none = (0,) * len(shape)
        return part if all(flags) else BasicIndex(none, none, none, (0, *part.shape[1:]))
    entries = _numpy_entries(keys) if scalars else [_entry(k) for k in keys]
    entries = _expand(entries, shape)
    if any(isinstance(e, np.ndarray) for e in entries):
        return _advanced(entries, shape)
    # An Ellipsis keeps the axis: as in MXNet.
    scalars = scalars or (numpy_shapes() and Ellipsis not in keys)
    return _basic(entries, shape, scalars, ordered)


class _Mask(NamedTuple):
    """The places along one axis that a mask over several axes selects."""

    axis_length: int
    places: np.ndarray


def _is_flag(k: Any) -> bool:
    return isinstance(k, bool) or (isinstance(k, Handle) and not k.ndim and k.dtype == bool)


def _numpy_entries(keys: tuple[Any, ...]) -> list[Any]:
    entries: list[Any] = []
    for k in keys:
        host = None
        if isinstance(k, _ARRAY_TYPES):
            host = np.asarray(k.asnumpy() if isinstance(k, Handle) else k)
        if k is True:
            entries.append(None)
        elif host is None or host.dtype != bool:
            entries.append(_entry(k))
        else:
            entries += [_Mask(*pair) for pair in zip(host.shape, host.nonzero(), strict=True)]
    return entries


def _entry(k: Any) -> Any:
    if k is None or k is Ellipsis:
        return k
    if isinstance(k, slice):
        return slice(*(None if i is None else _integer(i) for i in (k.start, k.stop, k.step)))
    if isinstance(k, _ARRAY_TYPES | tuple):
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
    hint = "integers, slices, ..., None, lists or arrays of integers"
    return explain("NDArray", f"{k!r} ({type(k).__name__}) is not an index", hint=hint)


def _expand(entries: list[Any], shape: Shape) -> list[Any]:
    axes = sum(1 for e in entries if e is not None and e is not Ellipsis)
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise ValueRangeError("NDArray", "an index holds more than one ellipsis (...)")
    if axes > len(shape):
        raise ValueRangeError("NDArray", f"{axes} indices for an array of shape {shape}")
    at = dots[0] if dots else len(entries)
    whole = entries[:at] + [slice(None)] * (len(shape) - axes) + entries[at + 1 :]
    for e, axis, length in _axes(whole, shape):
        if isinstance(e, _Mask) and e.axis_length != length:
            problem = f"a mask of length {e.axis_length} for axis {axis} of length {length}"
            raise ValueRangeError("NDArray", problem)
    return [e.places if isinstance(e, _Mask) else e for e in whole]


def _axes(entries: list[Any], shape: Shape) -> Iterator[tuple[Any, int, int]]:
    axis = 0
    for e in entries:
        yield e, axis, shape[axis] if e is not None else 1
        axis += e is not None


def _in_bounds(lowest: int, highest: int, axis: int, length: int) -> None:
    for i in (lowest, highest):
        if not -length <= i < length:
            problem = f"index {i} is out of bounds for axis {axis} of length {length}"
            raise ValueRangeError("NDArray", problem)


def _basic(entries: list[Any], shape: Shape, scalars: bool, ordered: bool) -> BasicIndex:
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
            if ordered and (stop - start) * step < 0:
                problem = f"range {start}:{stop}:{step} of axis {axis} ends before it starts"
                hint = "a stop that is not before the start"
                raise ArgumentValueError("NDArray", problem, hint=hint)
            result.append(count)
        starts.append(start)
        lengths.append(count)
        steps.append(step if count > 1 else 1)
    if shape and not result and not scalars:
        result = [1]
    return BasicIndex(tuple(starts), tuple(lengths), tuple(steps), tuple(result))


def _advanced(entries: list[Any], shape: Shape) -> AdvancedIndex:
    for e, axis, length in _axes(entries, shape):
        if isinstance(e, int):
            _in_bounds(e, e, axis, length)
        elif isinstance(e, np.ndarray) and e.size:
            _in_bounds(int(e.min()), int(e.max()), axis, length)
    key = tuple(np.array(e) if isinstance(e, int) else e for e in entries)
    try:
        part = np.broadcast_to(np.int8(0), shape)[key]
    except IndexError:
        shapes = ", ".join(str(e.shape) for e in key if isinstance(e, np.ndarray))
        raise ShapeError("NDArray", f"index arrays of shapes {shapes} do not broadcast") from None
    return AdvancedIndex(key, part.shape)


def contiguous_offset(part: BasicIndex, shape: Shape) -> int | None:
    """Returns the first element of a part that lies contiguously in memory, else None."""
    covers_inner_axes = True
    for length, step, dim in reversed(list(zip(part.lengths, part.steps, shape, strict=True))):
        if step != 1 or (length != 1 and not covers_inner_axes):
            return None
        covers_inner_axes = covers_inner_axes and length == dim
    offset = 0
    for start, dim in zip(part.starts, shape, strict=True):
        offset = offset * dim + start
    return offset


def read_part(array: Array, key: Any) -> Array:
    """Returns ``array[key]``: the array for ``[:]``, a view of a contiguous part, else a copy."""
    if (key.__class__ is slice and key == _WHOLE) or (key.__class__ is tuple and not key):
        return array
    rows = _rows(array, key)
    if rows is not None:
        return rows
    ordered = isinstance(key, slice) and key.step in (None, 1)
    part = parse_index(key, array.shape, array.has_scalars, ordered)
    lengths = part.lengths if isinstance(part, BasicIndex) else part.shape
    if 0 in lengths[1:] and not array.has_scalars and 0 not in array.shape:
        problem = f"an index of an array of shape {array.shape} selects nothing of an axis"
        raise ShapeError("NDArray", problem, hint="mx.np, whose arrays may be empty")
    if modes.recording and is_recorded(array):
        return _recorded_part(array, part)
    if isinstance(part, AdvancedIndex):
        arrays, layout = _split(part.key)
        value = _gather(array.value, arrays, layout)
        return array.from_jax(value, array.context, shared=False)
    if not math.prod(lengths):
        empty = np.zeros(part.shape, array.storage.dtype)
        return array.from_jax(to_device(empty, array.context.device), array.context)
    offset = contiguous_offset(part, array.shape)
    if offset is not None:
        return array.flat_view(part.shape, offset)
    value = _read_ranges(array.value, *_ranges(part), part.shape)
    return array.from_jax(value, array.context, shared=False)


def _rows(array: Array, key: Any) -> Array | None:
    """Returns the view that an int or a slice of consecutive rows selects, in a tenth of the time
    of other parts; None for these, for no elements and for a recorded array."""
    shape, is_slice = array.shape, key.__class__ is slice
    if not shape or not (is_slice or key.__class__ is int):
        return None
    if array.graph_entry is not None and modes.recording:
        return None
    length, row = shape[0], shape[1:]
    size = math.prod(row)
    if not is_slice:
        if not size or not -length <= key < length:
            return None
        row = row or (() if array.has_scalars or numpy_shapes() else (1,))
        return array.flat_view(row, key % length * size)
    try:
        start, stop, step = key.indices(length)
    except TypeError:
        return None
    if step != 1 or not size or start >= stop:
        return None
    return array.flat_view((stop - start, *row), start * size)


def _recorded_part(array: Array, part: BasicIndex | AdvancedIndex) -> Array:
    if not math.prod(part.shape):
        flat = call("_np_reshape", array, newshape=(-1,))
        empty = call("slice", flat, begin=(0,), end=(0,), step=())
        return call("_np_reshape", empty, newshape=part.shape)
    if isinstance(part, AdvancedIndex):
        places = np.arange(math.prod(array.shape)).reshape(array.shape)[part.key]
        indices = array.from_jax(to_device(places, array.context.device), array.context)
        flat = call("Reshape", array, shape=(-1,))
        return call("take", flat, indices, axis=0, mode="clip")
    bounds = zip(part.starts, part.lengths, part.steps, strict=True)
    ends = [start + (n - 1) * step + (1 if step > 0 else -1) for start, n, step in bounds]
    attrs = {
        "begin": part.starts,
        "end": tuple([None if end < 0 else end for end in ends]),
        "step": part.steps,
    }
    offset = contiguous_offset(part, array.shape)
    name, attr = ("Reshape", "shape") if part.shape else ("_np_reshape", "newshape")
    if offset is None:
        return call(name, call("slice", array, **attrs), **{attr: part.shape})
    view = array.flat_view(part.shape, offset)
    modes.recorder.record_view(
        view, array, [call_of("slice", attrs), call_of(name, {attr: part.shape})]
    )
    return view


def _is_whole(key: Any) -> bool:
    return isinstance(key, slice) and key.start is key.stop is key.step is None


def _covers(key: Any, shape: Shape, scalars: bool) -> bool:
    if _is_whole(key):
        return True
    part = parse_index(key, shape, scalars)
    return isinstance(part, BasicIndex) and part == parse_index(slice(None), shape)


def write_part(array: Handle, key: Any, value: Any) -> None:
    if modes.recording:
        if not _is_whole(key) or isinstance(value, Handle | bool | int | float):
            check_unrecorded(array)
        if isinstance(value, Handle) and modes.recorder.takes((value,), None):
            modes.recorder.record_write(
                array, value, covers=_covers(key, array.shape, array.has_scalars)
            )
            return
    device, dtype, shape = array.context.device, array.storage.dtype, array.shape
    if _is_whole(key) and shape:
        array.assign(*fit(value, shape, dtype, device, "assignment to NDArray"))
        return
    part = parse_index(key, shape, array.has_scalars, ordered=True)
    new, shared = fit(value, part.shape, dtype, device, "assignment to NDArray")
    if isinstance(part, AdvancedIndex):
        arrays, layout = _split(part.key)
        array.assign(_scatter(array.value, new, arrays, layout))
        return
    if not math.prod(part.lengths):
        return
    offset = contiguous_offset(part, shape)
    if offset is not None:
        target = array if part.shape == shape else array.flat_view(part.shape, offset)
        target.assign(new, shared)
        return
    array.assign(_write_ranges(array.value, new, *_ranges(part)))


def _split(key: tuple[Any, ...]) -> tuple[tuple[np.ndarray, ...], tuple[Any, ...]]:
    arrays = tuple(e for e in key if isinstance(e, np.ndarray))
    layout = tuple(
        Ellipsis if isinstance(e, np.ndarray) else e and (e.start, e.stop, e.step) for e in key
    )
    return arrays, layout


def _merge_indices(arrays: tuple[Any, ...], layout: tuple[Any, ...]) -> tuple[Any, ...]:
    remaining = iter(arrays)
    return tuple(
        next(remaining) if e is Ellipsis else slice(*e) if e is not None else None for e in layout
    )


@small_jit(static_argnums=2)
def _gather(value: jax.Array, arrays: tuple[Any, ...], layout: tuple[Any, ...]) -> jax.Array:
    return value[_merge_indices(arrays, layout)]


@small_jit(static_argnums=3)
def _scatter(
    value: jax.Array, new: jax.Array, arrays: tuple[Any, ...], layout: tuple[Any, ...]
) -> jax.Array:
    return value.at[_merge_indices(arrays, layout)].set(new)


def _ranges(part: BasicIndex) -> tuple[tuple[np.int64, ...], tuple[int, ...], tuple[int, ...]]:
    parts = zip(part.starts, part.lengths, part.steps, strict=True)
    starts = tuple(np.int64(start + min((length - 1) * step, 0)) for start, length, step in parts)
    return starts, part.lengths, part.steps


def _spans(lengths: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((n - 1) * abs(step) + 1 for n, step in zip(lengths, steps, strict=True))


def _backwards(steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis, step in enumerate(steps) if step < 0)


@small_jit(static_argnums=(2, 3, 4))
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


@small_jit(static_argnums=(3, 4))
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
