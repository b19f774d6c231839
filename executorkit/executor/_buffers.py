"""The buffers of an executor, in the order of its graph, and new contents for them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays.protocol import PendingValue
from ..arrays.storage import Storage
from ..arrays.values import to_device
from ..context import Context
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
