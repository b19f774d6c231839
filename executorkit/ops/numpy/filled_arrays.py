"""Constant arrays, from attributes or with the shape of another array."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..schema.attrs import DType, Shape, Tuning
from ..schema.inference import output_dtype
from ..schema.operator_registry import named
from .promotion import attribute_or, first_type, numpy_operator

_of_dtype = output_dtype("dtype")


def _filled(name: str, value: int) -> Callable[..., Array]:
    def op(*, shape: Shape = (), ctx: Tuning[str] = "", dtype: DType = "float32") -> Array:
        return jnp.full(shape, value, dtype)

    doc = f"Makes an array of ``shape`` and ``dtype`` filled with {value}. ``ctx`` has no effect."
    return named(op, name, doc)


for _name, _value in (("_npi_zeros", 0), ("_npi_ones", 1)):
    numpy_operator(_name, infer_type=_of_dtype)(_filled(_name, _value))


@numpy_operator("_npi_identity", infer_type=_of_dtype)
def identity(*, shape: Shape = (), ctx: Tuning[str] = "", dtype: DType = "float32") -> Array:
    """Makes a square matrix of ``shape`` with ones on its diagonal."""
    return jnp.eye(*shape, dtype=dtype)


@numpy_operator("_npi_eye", infer_type=_of_dtype)
def eye(
    *, N: int, M: int | None = None, k: int = 0, ctx: Tuning[str] = "",  # noqa: N803
    dtype: DType = "float32",
) -> Array:  # fmt: skip
    """Makes a matrix of shape (N, M) with ones on diagonal ``k``; None means M = N."""
    return jnp.eye(N, M, k, dtype=dtype)


@numpy_operator("_npi_arange", infer_type=_of_dtype)
def arange(
    *, start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1,
    infer_range: bool = False, ctx: Tuning[str] = "", dtype: DType = "float32",
) -> Array:  # fmt: skip
    """Counts start, start + step, ... before stop, or from 0 to start: shape (number,)."""
    first, end = (0.0, start) if stop is None else (start, stop)
    return jnp.asarray(np.repeat(np.arange(first, end, step), repeat).astype(dtype))


@numpy_operator("_npi_logspace", infer_type=_of_dtype)
def logspace(
    *, start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0,
    ctx: Tuning[str] = "", dtype: DType = "float32",
) -> Array:  # fmt: skip
    """Raises ``base`` to ``num`` evenly spaced powers from start to stop: shape (num,)."""
    return jnp.asarray(np.logspace(start, stop, num, endpoint, base).astype(dtype))


@numpy_operator("_npi_indices", infer_type=_of_dtype)
def indices(*, dimensions: Shape, dtype: DType = "int32", ctx: Tuning[str] = "") -> Array:
    """Makes the index of each element of an array of shape ``dimensions``: (axes, *dimensions)."""
    return jnp.indices(dimensions, dtype=dtype)


def _window(name: str, fn: Callable[[int], np.ndarray]) -> Callable[..., Array]:
    def op(
        *, M: int | None = None, ctx: Tuning[str] = "", dtype: DType = "float32",  # noqa: N803
    ) -> Array:  # fmt: skip
        return jnp.asarray(fn(M or 0).astype(dtype))

    return named(op, name, f"Makes the {name.rpartition('_')[2]} window: shape (M,).")


for _fn in (np.blackman, np.hamming, np.hanning):
    _name = f"_npi_{_fn.__name__}"
    numpy_operator(_name, infer_type=_of_dtype)(_window(_name, _fn))


@numpy_operator("_npi_full_like", infer_type=attribute_or(first_type))
def full_like(
    a: Array, *, fill_value: float, ctx: Tuning[str] = "", dtype: DType | None = None
) -> Array:
    """Makes an array of the shape of a, and of its type or ``dtype``, filled with
    ``fill_value``."""
    return jnp.full(a.shape, fill_value, dtype or a.dtype)
