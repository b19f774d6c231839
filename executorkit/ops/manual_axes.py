"""Values that differ between the devices of a ``shard_map``, as its types tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax


def varying_axes(arrays: Iterable[Any]) -> frozenset[Any]:
    """The axes of the surrounding ``shard_map`` along which any of the arrays differs."""
    return frozenset().union(*(jax.typeof(x).manual_axis_type.varying for x in arrays))


def varying_over(axes: frozenset[Any], x: Array) -> Array:
    """``x``, taken to differ along these axes: the carry of a loop has to be of the type that the
    loop computes. In the transpose, the cotangents of all devices are added up."""
    missing = tuple(axes - varying_axes([x]))
    return lax.pcast(x, missing, to="varying") if missing else x


def varying_as(x: Array, *arrays: Array) -> Array:
    """``x``, taken to differ along all axes along which one of the arrays does."""
    return varying_over(varying_axes(arrays), x)


def varying_struct(shape: Any, dtype: Any, *arrays: Array) -> Any:
    """An example of an array that differs along all axes along which one of these does: its shape
    and dtype, and in a ``shard_map`` zeros, since only arrays know the axes of the mesh."""
    axes = varying_axes(arrays)
    if not axes:
        return jax.ShapeDtypeStruct(shape, dtype)
    return varying_over(axes, jnp.zeros(shape, dtype))
