"""Transfer of batches: slices of rows, arrays cut into one part per device and gathered again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..arrays.values import host_array, to_device
from ..context import Context
from ..errors import BatchError, BatchTypeError
from ..executor import convert_for
from ..ndarray import NDArray
from ..ops.tensor.binary_arithmetic import convert
from ..program import small_jit
from ._replicated_array import PerDevice, ReplicatedArray

Bounds = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BatchInput:
    """An input of a group: whole shape, element type (None: inferred), batch axis (-1: none)."""

    name: str
    shape: tuple[int, ...]
    dtype: str | None = None
    axis: int = 0

    def part(self, rows: slice) -> tuple[int, ...]:
        shape, axis = self.shape, self.axis
        if axis < 0:
            return shape
        return (*shape[:axis], rows.stop - rows.start, *shape[axis + 1 :])


def scatter(
    value: Any, whole: BatchInput, slices: Sequence[slice], target: PerDevice, where: str
) -> Any:
    """Cuts a batch's array for the devices of ``target``: a stacked array, or a list of parts.
    Arrays in host memory go to each device directly; arrays on devices are cut there and copied
    from device to device. An array that is whole on its only device already is not copied."""
    _check(value, whole, where)
    if isinstance(target, list) and len(target) == 1:
        return [convert_for(value, target[0], where).value]
    if isinstance(target, list):
        return _cut(value, slices, whole.axis, target[0].storage.dtype, [a.context for a in target])
    host = _on_host(value, target.dtype)
    if host is not None:
        return target.replicas.scatter_host(_with_device_axis(host, whole.axis, len(slices)))
    return target.replicas.scatter(
        _cut_on_device(value, slices, whole.axis, target.dtype, target.contexts)
    )


def assign_scattered(target: PerDevice, value: Any) -> None:
    if isinstance(target, ReplicatedArray):
        target.assign(value)
    else:
        for array, part in zip(target, value, strict=True):
            array.assign(part, shared=True)


def slice_array(
    value: Any, slices: Sequence[slice], axis: int, contexts: Sequence[Context], where: str
) -> list[NDArray]:
    array = value if isinstance(value, NDArray | np.ndarray) else None
    if array is None:
        raise _no_array(value, where)
    dtype = array.storage.dtype if isinstance(array, NDArray) else array.dtype
    last = slices[-1].stop
    if axis >= 0 and (len(array.shape) <= axis or array.shape[axis] < last):
        raise BatchError(where, f"shape {array.shape}, expected {last} rows")
    if isinstance(array, NDArray) and _is_whole(array, slices, axis, contexts):
        return [array]
    parts = _cut(array, slices, axis, dtype, contexts)
    return [NDArray.from_jax(p, c) for p, c in zip(parts, contexts, strict=True)]


def gather(arrays: PerDevice, axis: int) -> NDArray:
    """Concatenates the arrays of all devices on the first; returns the first without an axis."""
    if len(arrays) == 1 or axis < 0:
        return arrays[0]
    context = arrays[0].context if isinstance(arrays, list) else arrays.contexts[0]
    value = _concatenate(_on_device(arrays, context), axis, isinstance(arrays, ReplicatedArray))
    return NDArray.from_jax(value, context, shared=False)


def mean_over_devices(arrays: PerDevice, target: Context) -> jax.Array:
    """Returns the mean, rounded as in MXNet: one addition after the other."""
    if len(arrays) == 1 and isinstance(arrays, list):
        (only,) = arrays
        return jax.device_put(only.value, target.device, may_alias=False)
    return _mean(_on_device(arrays, target), isinstance(arrays, ReplicatedArray))


def _on_device(arrays: PerDevice, context: Context) -> tuple[jax.Array, ...]:
    if isinstance(arrays, ReplicatedArray):
        return tuple(arrays.replicas.gather(arrays.value, context.device))
    return tuple(jax.device_put([a.value for a in arrays], context.device))


def _check(value: Any, whole: BatchInput, where: str) -> None:
    if not isinstance(value, NDArray | np.ndarray):
        raise _no_array(value, where)
    if tuple(value.shape) != whole.shape:
        problem = f"shape {tuple(value.shape)}, expected {whole.shape}"
        hint = "reshape the group, or have the iterator pad its last batch"
        raise BatchError(where, problem, because="the group is bound to that shape", hint=hint)


def _is_whole(
    array: NDArray, slices: Sequence[slice], axis: int, contexts: Sequence[Context]
) -> bool:
    rows = slices[-1].stop if axis < 0 else array.shape[axis]
    return slices == [slice(0, rows)] and array.context.device == contexts[0].device


def _no_array(value: Any, where: str) -> BatchTypeError:
    problem = f"{type(value).__name__}, expected an NDArray or a NumPy array"
    return BatchTypeError(where, problem, hint="mx.nd.array(value)")


def _on_host(value: NDArray | np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    if not isinstance(value, NDArray):
        return host_array(value, dtype, "batch")
    if next(iter(value.value.devices())).platform != "cpu":
        return None
    host = np.asarray(value.jax)
    return host if host.dtype == dtype else host_array(host, dtype, "batch")


def _cut(
    value: Any, slices: Sequence[slice], axis: int, dtype: np.dtype, contexts: Sequence[Context]
) -> list[jax.Array]:
    host = _on_host(value, dtype)
    if host is None:
        return _cut_on_device(value, slices, axis, dtype, contexts)
    before = (slice(None),) * axis
    parts = [host if axis < 0 else host[(*before, rows)] for rows in slices]
    pairs = zip(parts, contexts, strict=True)
    return [to_device(np.ascontiguousarray(part), c.device) for part, c in pairs]


def _cut_on_device(
    value: Any, slices: Sequence[slice], axis: int, dtype: np.dtype, contexts: Sequence[Context]
) -> list[jax.Array]:
    parts = _slices_of(value.value, tuple((s.start, s.stop) for s in slices), axis, dtype.name)
    return [jax.device_put(p, c.device) for p, c in zip(parts, contexts, strict=True)]


def _with_device_axis(host: np.ndarray, axis: int, count: int) -> np.ndarray:
    if axis < 0:
        return np.broadcast_to(host, (count, *host.shape))
    shape = host.shape
    split = host.reshape(*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return np.moveaxis(split, axis, 0)


@small_jit(static_argnums=(1, 2, 3))
def _slices_of(value: jax.Array, bounds: Bounds, axis: int, dtype: str) -> tuple[jax.Array, ...]:
    value = convert(value, dtype)
    if axis < 0:
        return (value,) * len(bounds)
    return tuple(lax.slice_in_dim(value, start, stop, axis=axis) for start, stop in bounds)


@small_jit(static_argnums=(1, 2))
def _concatenate(parts: tuple[jax.Array, ...], axis: int, leading: bool) -> jax.Array:
    return jnp.concatenate([p[0] for p in parts] if leading else parts, axis)


@small_jit(static_argnums=1)
def _mean(parts: tuple[jax.Array, ...], leading: bool) -> jax.Array:
    total = sum(parts[1:], start=parts[0])
    # XLA multiplies by the reciprocal of a number, which rounds differently.
    count = lax.optimization_barrier(jnp.full_like(total, len(parts)))
    value = total / count
    return value[0] if leading else value


def split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Returns one slice of the batch for each device, in proportion to its workload.

    Each share is rounded to the nearest number of rows (half to even), the last device gets the
    rest, as in MXNet. Where the last devices would get no row (6 rows on 4 devices, which MXNet
    refuses), the rows are cut at the rounded cumulative shares, at least one row each.

    :class:`BatchError` (a ValueError) for fewer rows than devices, or a workload not positive.

    >>> split_input_slice(10, [1, 2, 1])
    [slice(0, 2, None), slice(2, 7, None), slice(7, 10, None)]
    >>> split_input_slice(6, [1, 1, 1, 1])
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None), slice(5, 6, None)]
    """
    loads = list(work_load_list)
    _check_loads(batch_size, loads)
    total = sum(loads)
    sizes = [round(load * batch_size / total) for load in loads]
    left = batch_size - sum(sizes[:-1])
    sizes[-1] = left if sum(sizes) < batch_size else min(sizes[-1], left)
    stops = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    if min(sizes) < 1:
        stops = _spread(batch_size, loads, total)
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _spread(batch_size: int, loads: Sequence[float], total: float) -> list[int]:
    stops, share = [], 0.0
    for k, load in enumerate(loads, start=1):
        share += load
        stop = math.floor(share * batch_size / total + 0.5)
        first = stops[-1] + 1 if stops else 1
        stops.append(min(max(stop, first), batch_size - (len(loads) - k)))
    return stops


def _check_loads(batch_size: int, loads: Sequence[float]) -> None:
    request = f"batch of {batch_size} rows, {len(loads)} devices, workloads {loads}"
    if not loads:
        problem, hint = "no device to divide a batch over", "give at least one context"
    elif not all(load > 0 for load in loads):
        problem, hint = "every workload must be positive", "leave the context out instead"
    elif batch_size < len(loads):
        problem = f"{batch_size} rows cannot be divided over {len(loads)} devices"
        hint = f"a batch of at least {len(loads)} rows, or fewer contexts"
    else:
        return
    raise BatchError("slicing", problem, given_by=request, hint=hint)
