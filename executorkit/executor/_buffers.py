"""Where a run reads its arguments from and writes its results to, found once per executor.

New contents for arrays: one number everywhere, and what stands for an array not made yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context
from ..ndarray import NDArray
from ..ndarray.storage import Producer, Storage


class BufferRef:
    """In the place of a Storage for what is none of its own: a view of a part of one, the stacked
    array of a group."""

    __slots__ = ("_array",)

    #: To be asked for: it may have changed.
    value = None

    def __init__(self, array: Any) -> None:
        self._array = array

    def whole(self) -> jax.Array:
        """The contents."""
        return self._array.value

    def defer(self, producer: Producer) -> None:
        """The contents will come from ``resolve()``."""
        self._array.defer(producer)

    def set_result(self, producer: Producer, value: jax.Array) -> bool:
        """Assigns ``value`` if ``resolve`` is still what the array waits for."""
        return self._array.set_result(producer, value)


BufferRefs = tuple[Storage | BufferRef, ...]


class Buffers(NamedTuple):
    """The slots of an executor's arguments, auxiliary states, gradients and outputs."""

    args: BufferRefs
    aux: BufferRefs
    grads: BufferRefs
    outputs: BufferRefs

    @staticmethod
    def of(args: Any, aux: Any, grads: Any, outputs: Any) -> Buffers:
        """From lists of NDArrays, or of what can be read, promised and fulfilled like one."""
        return Buffers(
            _buffer_refs(args), _buffer_refs(aux), _buffer_refs(grads), _buffer_refs(outputs)
        )


def _buffer_refs(arrays: Iterable[Any]) -> BufferRefs:
    return tuple(
        [a.storage if isinstance(a, NDArray) and a.covers_storage else BufferRef(a) for a in arrays]
    )


def read_buffers(slots: BufferRefs) -> tuple[jax.Array, ...]:
    """The contents of slots, those that are promised computed first."""
    return tuple([s.whole() if (value := s.value) is None else value for s in slots])


def zeros(shape: Sequence[int], dtype: str | None, ctx: Context) -> jax.Array:
    """Zeros on the context's device; float32 if no type is known."""
    return full(shape, dtype or "float32", ctx, 0)


def lazy_zeros(shape: tuple[int, ...], dtype: str | None, ctx: Context) -> NDArray:
    """An NDArray of zeros, which are made when someone reads them: most arrays that are bound are
    written as a whole first."""
    made = partial(zeros, shape, dtype, ctx)
    storage = Storage.later(shape, jnp.dtype(dtype or "float32"), made)
    return NDArray.from_storage(storage, 0, shape, ctx)


def full(shape: Sequence[int], dtype: Any, ctx: Context, value: float) -> jax.Array:
    """One number everywhere, on the context's device."""
    with jax.enable_x64(True):
        return jax.device_put(np.full(shape, value, jnp.dtype(dtype)), ctx.device)


def aval(array: NDArray) -> jax.ShapeDtypeStruct:
    """An array's shape, dtype and device; its contents are not looked at."""
    sharding = jax.sharding.SingleDeviceSharding(array.context.device)
    return jax.ShapeDtypeStruct(array.shape, array.storage.dtype, sharding=sharding)
