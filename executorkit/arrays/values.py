"""Conversion of a user's values to a ``jax.Array`` of a required shape, dtype and device."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from .._support.shape_semantics import is_known
from ..context import Context, Device
from ..errors import InputTypeError, ShapeError
from ..jax_internals import batched_device_put, in_x64
from ..ops.tensor.binary_arithmetic import convert
from ..program import sharding_of, small_jit
from .handle import Handle
from .storage import Shape

#: Types of contexts whose arrays are in the host's memory.
HOST_TYPES = frozenset(Context.devstr2type[name] for name in ("cpu", "cpu_pinned", "cpu_shared"))


class FittedValue(NamedTuple):
    """A value ready to be assigned; ``shared`` says that its buffer may be held elsewhere."""

    value: jax.Array
    shared: bool


def fit(source: Any, shape: Shape, dtype: np.dtype, device: Device, where: str) -> FittedValue:
    """Broadcasts ``source`` (number, NumPy or JAX array, NDArray, nested list) to ``shape``.
    Surplus leading axes of length 1 are dropped. TypeError if it is not an array; ShapeError (a
    ValueError) if it does not broadcast; ``where`` names the assignment in the message."""
    if isinstance(source, bool | int | float | np.number | np.bool_):
        return FittedValue(filled(source, shape, dtype, device), False)
    if isinstance(source, Handle | jax.Array):
        value = source.value if isinstance(source, Handle) else source
        moved = jax.device_put(value, device) if value.devices() != {device} else value
        if moved.shape != shape or moved.dtype != dtype:
            _check_broadcast(moved.shape, shape, where)
            return FittedValue(_converted(moved, shape, dtype.name), False)
        if isinstance(source, Handle):
            source.storage.shared = True
        return FittedValue(moved, True)
    host = host_array(source, dtype, where)
    if host.shape != shape:
        _check_broadcast(host.shape, shape, where)
        host = np.broadcast_to(host.reshape(host.shape[max(host.ndim - len(shape), 0) :]), shape)
    return FittedValue(to_device(np.ascontiguousarray(host).reshape(shape), device), False)


def check_known_shape(where: str, shape: Shape) -> None:
    """Raises ShapeError for a shape with unknown lengths (see ``np_shape``)."""
    if not is_known(shape):
        raise ShapeError(
            where,
            f"shape {shape} is not known",
            because="() and lengths of 0 stand for unknown ones"
            if min(shape, default=0) >= 0
            else "lengths are not negative",
            hint="with mx.np_shape(): 0 is a length, and () the shape of a scalar",
        )


def host_array(source: Any, dtype: np.dtype, where: str) -> np.ndarray:
    """Returns a new NumPy array of ``source``; TypeError if it cannot be read as one."""
    if isinstance(source, np.ndarray) and source.dtype == dtype:
        return np.array(source)
    try:
        with np.errstate(invalid="ignore"):
            if isinstance(source, np.ndarray):
                return source.astype(dtype)
            try:
                return np.array(source, dtype)
            except OverflowError:  # numbers out of range wrap, as in the NumPy that MXNet uses
                return np.array(source).astype(dtype)
    except (OverflowError, TypeError, ValueError):
        text = " ".join(repr(source).split())
        text = text if len(text) <= 80 else text[:77] + "..."
        problem = f"{text} ({type(source).__name__}) is not an array of {dtype.name}"
        hint = "a number, a regular nested list, a NumPy array or an NDArray"
        raise InputTypeError(where, problem, hint=hint) from None


@in_x64
def to_device(host: np.ndarray, device: Device) -> jax.Array:
    """Returns a device array of a NumPy array that is not written to any more."""
    aval = ShapedArray(host.shape, host.dtype)
    return batched_device_put(aval, sharding_of(device), [host], [device], True)


def filled(number: Any, shape: Shape, dtype: np.dtype, device: Device) -> jax.Array:
    """Returns an array of one number; on the CPU NumPy makes it, without a program."""
    if device.platform == "cpu" or math.prod(shape) <= 1024:
        return to_device(filled_on_host(number, shape, dtype), device)
    return _broadcast(in_x64(jax.device_put)(filled_on_host(number, (), dtype), device), shape)


def filled_on_host(number: Any, shape: Shape, dtype: np.dtype) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.asarray(number).astype(dtype)
    return np.full(shape, value, dtype)


@small_jit(static_argnums=1)
def _broadcast(value: jax.Array, shape: Shape) -> jax.Array:
    return jnp.broadcast_to(value, shape)


@small_jit(static_argnums=(1, 2))
def _converted(value: jax.Array, shape: Shape, dtype: str) -> jax.Array:
    surplus = max(value.ndim - len(shape), 0)
    return jnp.broadcast_to(convert(value.reshape(value.shape[surplus:]), dtype), shape)


def _check_broadcast(shape: Shape, target: Shape, where: str) -> None:
    surplus = len(shape) - len(target)
    pairs = zip(reversed(shape), reversed(target), strict=False)
    fits = all(d == 1 for d in shape[: max(surplus, 0)]) and all(d in (1, t) for d, t in pairs)
    if not fits:
        raise ShapeError(where, f"a value of shape {shape} does not broadcast to {target}")
