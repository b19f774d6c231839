"""New contents for arrays: one number everywhere, and what stands for an array not made yet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..context import Context
from ..ndarray import NDArray
from ..ndarray._storage import Storage


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
