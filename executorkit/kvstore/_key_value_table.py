"""The arrays of a store by key: as arguments, added, pushed sums to, and pulled."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

from ..arrays.values import fit
from ..context import Context
from ..errors import InputTypeError, KVStoreError, ShapeError
from ..jax_internals import in_x64
from ..ndarray import NDArray
from ..optimizer import Updater
from ..parallel import PerDevice, ReplicatedArray, all_reduce, first_of_job, sum_arrays_over_job
from ..program import small_jit

Key = int | str
ArraysByKey = dict[Key, PerDevice]


def arrays_by_key(key: Any, arrays: Any, where: str) -> dict[Key, PerDevice]:
    """Returns the arrays of each key, an int, a str or a list of them, all of one type.

    ``arrays`` is an NDArray or a list of NDArrays (such as a group's arrays of all devices); for a
    list of keys a list with one such entry for each key. The arrays of a repeated key are
    concatenated. Raises :class:`InputTypeError` for arguments of other types.
    """
    if not isinstance(key, list | tuple):
        return {_checked_key(key, where): _as_arrays(key, arrays, where)}
    if not isinstance(arrays, list | tuple) or len(key) != len(arrays):
        count = len(arrays) if isinstance(arrays, list | tuple) else repr(arrays)
        raise InputTypeError(where, f"{len(key)} keys with {count} arrays", given_by=f"keys {key}")
    if len({isinstance(_checked_key(k, where), str) for k in key}) > 1:
        raise InputTypeError(where, f"keys of two types: {key}")
    by_key: dict[Key, PerDevice] = {}
    for k, entry in zip(key, arrays, strict=True):
        key_arrays = _as_arrays(k, entry, where)
        by_key[k] = [*by_key[k], *key_arrays] if k in by_key else key_arrays
    return by_key


def _checked_key(key: object, where: str) -> Key:
    if not isinstance(key, int | str):
        raise InputTypeError(where, f"a {type(key).__name__} as key, expected an int or a str")
    return key


def _as_arrays(key: Key, arrays: object, where: str) -> PerDevice:
    if isinstance(arrays, NDArray):
        return [arrays]
    if isinstance(arrays, ReplicatedArray):
        return arrays
    if not isinstance(arrays, list | tuple) or not all(isinstance(a, NDArray) for a in arrays):
        problem = f"a {type(arrays).__name__}, expected an NDArray or a list of NDArrays"
        raise InputTypeError(f"{where}: key {key!r}", problem)
    return list(arrays)


@dataclass
class StoredArray:
    """The array of a key, the ``number``th that was added; ``on_sum_device`` once it is there, with
    ``residuals`` of the compression for each pushed array."""

    array: NDArray
    number: int
    on_sum_device: bool
    residuals: dict[int, jax.Array] = field(default_factory=dict)


class KeyValueTable:
    """Arrays by key. Sums are made on the device of the first pushed array (``on_first_device``)
    and over all processes (``dist``), of arrays quantised by ``threshold`` unless it is None."""

    def __init__(self, on_first_device: bool, dist: bool) -> None:
        self.on_first_device = on_first_device
        self.dist = dist
        self.threshold: float | None = None
        self._entries: dict[Key, StoredArray] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, new_arrays: ArraysByKey, shared: bool = False) -> None:
        for key, arrays in new_arrays.items():
            self._check_type(key, "init")
            if key in self._entries or len(arrays) > 1:
                raise KVStoreError("init", f"the key {key!r} is there already")
        pairs = [(key, array) for key, arrays in new_arrays.items() for array in arrays]
        stored = [array if shared else array.copy() for _, array in pairs]
        if self._spans_processes and stored:
            received = first_of_job(stored[0].context.device, [x.asnumpy() for x in stored])
            for x, values in zip(stored, received, strict=True):
                x[:] = values
        for (key, _), x in zip(pairs, stored, strict=True):
            number = len(self._entries)
            self._entries[key] = StoredArray(x, number, shared or not self.on_first_device)

    def follow(self, keys: Sequence[Key], arrays: Sequence[ReplicatedArray]) -> bool:
        stored = [self._entries[key].array for key in keys]
        if any(x.context != a.contexts[0] for x, a in zip(stored, arrays, strict=True)):
            return False
        for x, array in zip(stored, arrays, strict=True):
            array.follow(x)
        return True

    def push(self, values: ArraysByKey, updater: Callable[..., Any] | None, where: str) -> None:
        self._check(values, where)
        sums = self._sums({k: arrays for k, arrays in values.items() if len(arrays)})
        if self._spans_processes:
            contexts = [self._entries[k].array.context for k in sums]
            pairs = zip(sums.values(), contexts, strict=True)
            arrays = [NDArray.from_jax(value, context, shared=False) for value, context in pairs]
            sums = dict(zip(sums, [x.value for x in sum_arrays_over_job(arrays)], strict=True))
        keys = sorted(sums, key=lambda k: k if isinstance(k, int) else self._entries[k].number)
        stored = [self._entries[key].array for key in keys]
        pairs = zip(keys, stored, strict=True)
        totals = [NDArray.from_jax(sums[key], array.context, shared=False) for key, array in pairs]
        if updater is None:
            for key, total in zip(keys, totals, strict=True):
                self._entries[key].array = total
        elif _takes_lists(updater) and len({array.context for array in stored}) == 1:
            # One program for all.
            updater(keys, totals, stored)
        else:
            for update in zip(keys, totals, stored, strict=True):
                updater(*update)

    def pull(self, outs: ArraysByKey, where: str) -> None:
        self._check(outs, where)
        for key, targets in outs.items():
            _write_to_devices(self._entries[key].array, targets)

    def reduce_in_place(
        self, values: ArraysByKey, outs: ArraysByKey, where: str
    ) -> tuple[ArraysByKey, ArraysByKey]:
        """Pushes and pulls replicated arrays on their devices; returns the remaining arrays."""
        if self.threshold is not None or (jax.process_count() > 1 and not self.dist):
            return values, outs
        self._check(values, where)
        self._check(outs, where)
        reduced: dict[Key, tuple[ReplicatedArray, ReplicatedArray]] = {}
        for key, value in values.items():
            out = outs.get(key)
            if not isinstance(value, ReplicatedArray) or not isinstance(out, ReplicatedArray):
                continue
            if (value.replicas, value.dtype) == (out.replicas, out.dtype):
                reduced[key] = value, out
        for replicas in {value.replicas for value, _ in reduced.values()}:
            keys = [k for k, (value, _) in reduced.items() if value.replicas is replicas]
            totals: list[Any] = all_reduce([reduced[k][0] for k in keys])
            for key, total in zip(keys, totals, strict=True):
                value, out = reduced[key]
                self._move_to_sum_device(self._entries[key], value)
                context = self._entries[key].array.context
                self._entries[key].array = total[0].copyto(context)
                out.assign(total.value)
        pushed, pulled = ({k: v for k, v in d.items() if k not in reduced} for d in (values, outs))
        return pushed, pulled

    @property
    def _spans_processes(self) -> bool:
        return self.dist and jax.process_count() > 1

    def _move_to_sum_device(self, entry: StoredArray, arrays: PerDevice) -> None:
        if not entry.on_sum_device:
            first = arrays.contexts[0] if isinstance(arrays, ReplicatedArray) else arrays[0].context
            entry.array = entry.array.as_in_context(first)
            entry.on_sum_device = True

    def _sums(self, values: ArraysByKey) -> dict[Key, jax.Array]:
        sums: dict[Key, jax.Array] = {}
        lists: dict[Context, dict[Key, list[jax.Array]]] = {}
        for key, arrays in values.items():
            entry = self._entries[key]
            self._move_to_sum_device(entry, arrays)
            if self.threshold is not None or isinstance(arrays, ReplicatedArray):
                sums[key] = self._sum(entry, arrays)
            else:
                lists.setdefault(entry.array.context, {})[key] = [a.value for a in arrays]
        for context, by_key in lists.items():
            sums.update(zip(by_key, _sum_each([*by_key.values()], context), strict=True))
        return sums

    def _sum(self, entry: StoredArray, arrays: PerDevice) -> jax.Array:
        context = entry.array.context
        if self.threshold is None:
            return _sum_over_devices(arrays, context)
        if self.dist:
            return self._compressed(entry, 0, _sum_over_devices(arrays, context))
        return _sum_on([self._compressed(entry, i, a.value) for i, a in enumerate(arrays)], context)

    @in_x64
    def _compressed(self, entry: StoredArray, number: int, value: jax.Array) -> jax.Array:
        residual = entry.residuals.get(number)
        residual = jnp.zeros_like(value) if residual is None else residual
        threshold = jnp.float32(self.threshold)
        sent, entry.residuals[number] = _quantize_two_bit(value, residual, threshold)
        return sent

    def _check(self, arrays_by_key: ArraysByKey, where: str) -> None:
        for key, arrays in arrays_by_key.items():
            self._check_type(key, where)
            if key not in self._entries:
                hint = f"init({key!r}, value)"
                raise KVStoreError(where, f"the key {key!r} is not there", hint=hint)
            shape = self._entries[key].array.shape
            for array in [arrays] if isinstance(arrays, ReplicatedArray) else arrays:
                if array.shape != shape:
                    problem = f"shape {array.shape}, expected {shape}"
                    raise ShapeError(f"{where}: key {key!r}", problem)

    def _check_type(self, key: Key, where: str) -> None:
        first_key = next(iter(self._entries), key)
        if isinstance(first_key, str) != isinstance(key, str):
            problem = f"the key {key!r} is of another type than those before"
            raise KVStoreError(where, problem, because=f"{first_key!r} is in the store")


def _takes_lists(updater: Callable[..., Any]) -> bool:
    return isinstance(updater, Updater) and type(updater).__call__ is Updater.__call__


def _sum_over_devices(arrays: PerDevice, context: Context) -> jax.Array:
    if isinstance(arrays, ReplicatedArray):
        return _sum_parts(tuple(arrays.replicas.gather(arrays.value, context.device)), arrays.shape)
    return _sum_on([a.value for a in arrays], context)


def _sum_on(parts: Sequence[jax.Array], context: Context) -> jax.Array:
    moved = in_x64(jax.device_put)(list(parts), context.device)
    return _sum_parts(tuple(moved), parts[0].shape)


def _sum_each(lists: Sequence[Sequence[jax.Array]], context: Context) -> list[jax.Array]:
    if len(lists) == 1:
        return [_sum_on(lists[0], context)]
    moved = in_x64(jax.device_put)([list(parts) for parts in lists], context.device)
    shapes = tuple(parts[0].shape for parts in lists)
    return list(_sum_lists(tuple(map(tuple, moved)), shapes))


@small_jit(static_argnums=1)
def _sum_lists(
    lists: tuple[tuple[jax.Array, ...], ...], shapes: tuple[tuple[int, ...], ...]
) -> tuple[jax.Array, ...]:
    return tuple(map(_sum, lists, shapes))


@small_jit(static_argnums=1)
def _sum_parts(parts: tuple[jax.Array, ...], shape: tuple[int, ...]) -> jax.Array:
    return _sum(parts, shape)


def _sum(parts: Sequence[jax.Array], shape: tuple[int, ...]) -> jax.Array:
    return reduce(operator.add, (p.reshape(shape).astype(parts[0].dtype) for p in parts))


def _write_to_devices(array: NDArray, targets: PerDevice) -> None:
    if not isinstance(targets, ReplicatedArray):
        for target in targets:
            if target is not array:
                array.copyto(target)
        return
    replicas, dtype = targets.replicas, targets.dtype
    value = fit(array, targets.shape, dtype, replicas.home, "pull").value
    targets.assign(replicas.broadcast(value))


@small_jit
def _quantize_two_bit(
    gradient: jax.Array, residual: jax.Array, threshold: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Rounds a gradient to -threshold, 0 or threshold; also returns the remainder for the next one.

    The result is threshold where residual + gradient >= threshold, -threshold where it is at most
    -threshold, else 0. Seide et al., "1-bit stochastic gradient descent", 2014, with two bits.
    """
    total = residual + gradient
    level = threshold.astype(total.dtype)
    sent = jnp.where(total >= level, level, jnp.where(total <= -level, -level, 0))
    sent = sent.astype(total.dtype)
    return sent, total - sent
