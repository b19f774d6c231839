"""The buffers of an executor, in the order of its graph, and contents for them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.protocol import PendingValue
from ..arrays.storage import Storage
from ..arrays.values import to_device
from ..context import Context
from ..errors import BatchError
from ..ndarray import NDArray


class Buffers(NamedTuple):
    args: tuple[PendingValue, ...]
    aux: tuple[PendingValue, ...]
    grads: tuple[PendingValue, ...]
    outputs: tuple[PendingValue, ...]


def read_buffers(buffers: Iterable[PendingValue]) -> tuple[jax.Array, ...]:
    """Returns the contents of buffers; pending ones are computed first."""
    return tuple([b.value if (value := b.current) is None else value for b in buffers])


def filled(shape: Sequence[int], dtype: str | np.dtype, ctx: Context, number: float) -> jax.Array:
    return to_device(np.full(shape, number, jnp.dtype(dtype)), ctx.device)


def lazy_zeros(shape: tuple[int, ...], dtype: str | None, ctx: Context) -> NDArray:
    """Returns an NDArray of zeros, allocated at the first read: most are overwritten first."""
    element_type = jnp.dtype(dtype or "float32")
    make = partial(filled, shape, element_type, ctx, 0)
    return NDArray.from_storage(Storage.lazy(shape, element_type, make), 0, shape, ctx)


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
