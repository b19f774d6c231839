"""The buffers of an executor, in the order of its graph, and contents for them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._support.annotations import Operands
from ..arrays.protocol import PendingValue
from ..arrays.storage import Storage
from ..arrays.values import filled
from ..context import Context
from ..errors import BatchError
from ..ndarray import NDArray
from ..program import HostResult


class Buffers(NamedTuple):
    args: tuple[PendingValue, ...]
    aux: tuple[PendingValue, ...]
    grads: tuple[PendingValue, ...]
    outputs: tuple[PendingValue, ...]


def read_buffers(buffers: Iterable[PendingValue]) -> Operands:
    """Returns the contents of buffers, computed first if pending; some may be on the host."""
    return tuple([_contents(b) if (value := b.current) is None else value for b in buffers])


def _contents(buffer: Any) -> Any:
    producer: Any = buffer.producer if buffer.__class__ is Storage else None
    is_on_host = producer.__class__ is HostResult and producer.host is not None
    return producer if is_on_host else buffer.value


def lazy_zeros(shape: tuple[int, ...], dtype: str | None, ctx: Context) -> NDArray:
    """Returns an NDArray of zeros, allocated at the first read: most are overwritten first."""
    element_type = jnp.dtype(dtype or "float32")
    storage = Storage.lazy(shape, element_type, lambda: filled(0, shape, element_type, ctx.device))
    return NDArray.from_storage(storage, 0, shape, ctx)


def aval(array: NDArray) -> jax.ShapeDtypeStruct:
    sharding = jax.sharding.SingleDeviceSharding(array.context.device)
    return jax.ShapeDtypeStruct(array.shape, array.storage.dtype, sharding=sharding)


def load_arrays(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copies each array into its target: an array, or a list of pairs (rows, array)."""
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        rows = target[-1][0].stop
        if source.shape[0] != rows:
            raise BatchError("batch", f"{source.shape[0]} rows, expected {rows}")
        for part, array in target:
            source[part].copyto(array)


def load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the data of a batch, as :func:`load_arrays`."""
    load_arrays(batch.data, targets)


def load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the labels of a batch, as :func:`load_arrays`."""
    load_arrays(batch.label, targets)
