"""Gathering and scattering by index tuples, and indices as tuples or numbers."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..errors import AttributeValueError, ShapeError
from ._attrs import Shape
from ._derivative import with_jvp
from ._facts import Params, ShapeFacts
from ._registry import register
from ._rules import dtype_of_first_input, output_dtype, same_dtype_among
from .indexing import integer_indices


def _index_tuple(indices: jax.Array, axes: int) -> tuple[jax.Array, ...]:
    if indices.ndim < 2 or indices.shape[0] > axes:
        raise ShapeError(f"'indices' is {indices.shape}, expected (M, ...) with M up to {axes}")
    return tuple(integer_indices(indices))


@register("gather_nd", types=dtype_of_first_input)
def gather_nd(data: jax.Array, indices: jax.Array):
    """out[j, ...] = data[indices[0, j], ..., indices[M - 1, j], ...].

    data (d0, d1, ...); indices (M, j0, j1, ...) holds in its first axis the M first coordinates of
    each entry. Returns (j0, j1, ..., dM, ...). Coordinates are taken modulo the axis' size. The
    gradient goes to the entries gathered, which it is added up for; that of indices is zero.
    (MXNet forgets the modulo there: it adds the gradient of coordinates outside to other entries,
    or to memory beyond the array.)
    """
    where = _index_tuple(indices, data.ndim)
    wrapped = tuple(jnp.remainder(i, d) for i, d in zip(where, data.shape, strict=False))
    return data.at[wrapped].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _scatter_add(shape: Shape, unique: bool, data: jax.Array, *where: jax.Array) -> jax.Array:
    return jnp.zeros(shape, data.dtype).at[where].set(data, mode="drop", unique_indices=unique)


@register("scatter_nd", types=dtype_of_first_input)
def scatter_nd(data: jax.Array, indices: jax.Array, *, shape: Shape):
    """out[indices[0, j], ..., indices[M - 1, j], ...] = data[j, ...], zeros elsewhere.

    data (j0, j1, ..., sM, ...); indices (M, j0, j1, ...); ``shape`` (s0, s1, ...) is the shape of
    the result. Where indices name an entry twice one of the values stays; the gradient of each of
    them is that of the entry, as in MXNet. Entries outside are dropped.
    """
    where = _index_tuple(indices, len(shape))
    expected = (*indices.shape[1:], *shape[indices.shape[0] :])
    if data.shape != expected:
        raise ShapeError(
            f"'data' is {data.shape}, expected {expected}",
            f"indices is {indices.shape} and shape={shape}",
        )

    def scatter(data: jax.Array, *where: jax.Array) -> jax.Array:
        return _scatter_add(shape, False, data, *where)

    def rule(tangent: jax.Array, out: jax.Array, data: jax.Array, *where: jax.Array) -> jax.Array:
        # Unique indices make the transpose a plain gather; jax's own also zeroes the values lost.
        return _scatter_add(shape, True, tangent, *where)

    return with_jvp(scatter, rule, *(None for _ in where))(data, *where)


def _strides(shape: Shape) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _infer_ravel_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    if p.shape is not None:
        s.set("data", (len(p.shape), out[0] if out is not None else 0), because=f"shape={p.shape}")


@register("_ravel_multi_index", "ravel_multi_index", infer_shape=_infer_ravel_shape)
def ravel_multi_index(data: jax.Array, *, shape: Shape | None = None):
    """The position of each coordinate tuple in an array of shape ``shape``, last axis fastest.

    data (len(shape), N) holds a tuple in each column; the first entry of ``shape`` does not
    matter. Returns (N,), of data's type. Coordinates are not checked. The gradient is zero.
    """
    if not shape or data.ndim != 2 or data.shape[0] != len(shape):
        raise ShapeError(f"'data' is {data.shape}, expected ({len(shape or ())}, N), shape={shape}")
    rows = integer_indices(data)
    strides = jnp.asarray(np.array(_strides(shape)), rows.dtype)
    return (rows * strides[:, None]).sum(0, dtype=rows.dtype).astype(data.dtype)


@register("_unravel_index", "unravel_index")
def unravel_index(data: jax.Array, *, shape: Shape | None = None):
    """The coordinates of each position in an array of shape ``shape``, last axis fastest.

    data (N,) gives (len(shape), N), of data's type; the first entry of ``shape`` does not matter.
    More axes of data are kept (MXNet returns garbage for them). The gradient is zero.
    """
    if not shape:
        raise AttributeValueError("'shape' is not given")
    position = integer_indices(data)
    rows = []
    for stride in _strides(shape):
        step = jnp.asarray(stride, position.dtype)
        rows.append(lax.div(position, step))
        position = lax.rem(position, step)
    return jnp.stack(rows).astype(data.dtype)


def _infer_index_copy_shape(s: ShapeFacts, p: Params) -> None:
    s.same("old_tensor", "out0")
    old, index = s["old_tensor"], s["index_vector"]
    if old is not None and index is not None:
        s.set("new_tensor", (*index, *old[1:]))


@register(
    "_contrib_index_copy",
    infer_shape=_infer_index_copy_shape,
    types=same_dtype_among("old_tensor", "new_tensor", "out0"),
)
def index_copy(old_tensor: jax.Array, index_vector: jax.Array, new_tensor: jax.Array):
    """old_tensor with the entries of its first axis named by index_vector replaced.

    old_tensor (d0, d1, ...); index_vector (K,); new_tensor (K, d1, ...). The gradient of replaced
    entries is zero, that of index_vector too.
    """
    if index_vector.ndim != 1:
        raise ShapeError(f"'index_vector' is {index_vector.shape}, expected (K,)")
    return old_tensor.at[integer_indices(index_vector)].set(new_tensor)


@register("_contrib_index_array", types=output_dtype("int64"))
def index_array(data: jax.Array, *, axes: Shape | None = None):
    """The coordinates of every element of data.

    data (d0, d1, ...) gives (d0, d1, ..., n), int64: all n = data.ndim coordinates of each
    element, or those named by ``axes``. data's values do not matter, its gradient is zero.
    """
    named = range(data.ndim) if axes is None else [a % data.ndim for a in axes]
    rows = [lax.broadcasted_iota(jnp.int64, data.shape, a) for a in named]
    return jnp.stack(rows, -1)
