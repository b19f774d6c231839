"""Choosing entries by index arrays. Indices may be floats, as in MXNet, and are truncated."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..errors import AttributeValueError, ShapeError
from ._attrs import Count, Tuning
from ._axes import normal_axis
from ._facts import Params, ShapeFacts, TypeFacts
from ._registry import register
from ._rules import dtype_of_first_input, output_dtype, same_dtype_among


def integer_indices(indices: jax.Array) -> jax.Array:
    """Indices as integers: cut off towards zero, as MXNet does. They have no gradient."""
    if jnp.issubdtype(indices.dtype, jnp.integer) and indices.dtype.itemsize >= 4:
        return indices
    return lax.stop_gradient(indices).astype(jnp.int32)


def _in_range(indices: jax.Array, size: int, mode: str = "clip") -> jax.Array:
    index = integer_indices(indices)
    return jnp.remainder(index, size) if mode == "wrap" else jnp.clip(index, 0, size - 1)


def _infer_where_shape(s: ShapeFacts, p: Params) -> None:
    s.same("x", "y", "out0")
    condition, x = s["condition"], s["x"]
    if condition is not None and len(condition) > 1:
        s.same("condition", "x", "y", "out0")
    elif condition is not None and x is not None:
        s.set("condition", x[:1], because=f"a vector chooses entries of the first axis, x is {x}")
        s.set("x", (*s["condition"], *x[1:]))


@register("where", infer_shape=_infer_where_shape, types=same_dtype_among("x", "y", "out0"))
def where(condition: jax.Array, x: jax.Array, y: jax.Array):
    """x where condition is not 0 (NaN counts as not 0), else y.

    x and y have one shape (d0, d1, ...); condition has it too, or is a vector (d0,) that chooses
    whole entries of the first axis. condition may be of any type and has a zero gradient.
    """
    chosen = lax.stop_gradient(condition) != 0
    if condition.ndim == 1 and x.ndim > 1:
        chosen = lax.broadcast_in_dim(chosen, x.shape, (0,))
    return lax.select(chosen, x, y)


@register("take", types=dtype_of_first_input)
def take(
    a: jax.Array,
    indices: jax.Array,
    *,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
):
    """Entries of ``axis`` of a, chosen by indices.

    a (.., d, ..) and indices of any shape (i0, i1, ...) give (.., i0, i1, ..., ..). Indices
    outside [0, d) are clipped, or with ``wrap`` taken modulo d. The gradient of a goes to the
    entries taken; that of indices is zero.

    ``raise`` clips too: a compiled program cannot raise (MXNet does).
    """
    at = normal_axis(axis, a.ndim)
    # The gather clips by itself.
    index = _in_range(indices, a.shape[at], mode) if mode == "wrap" else integer_indices(indices)
    return jnp.take(a, index, at, mode="clip")


def _infer_batch_take_type(t: TypeFacts, p: Params) -> None:
    t.same("a", "out0")
    t.set("indices", "int32", because="MXNet takes no other indices here")


def _infer_batch_take_shape(s: ShapeFacts, p: Params) -> None:
    if s["a"] is not None:
        s.set("indices", s["a"][:1])
    s.same("indices", "out0")


@register("batch_take", infer_shape=_infer_batch_take_shape, types=_infer_batch_take_type)
def batch_take(a: jax.Array, indices: jax.Array):
    """out[i] = a[i, indices[i]].

    a (N, K); indices (N,), int32, clipped to [0, K). Returns (N,). MXNet has no gradient for it.
    """
    if a.ndim != 2:
        raise ShapeError(f"'a' is {a.shape}, expected (N, K)")
    index = _in_range(indices, a.shape[1])[:, None]
    return jnp.take_along_axis(a, index, 1, mode="promise_in_bounds")[:, 0]


def _infer_pick_shape(s: ShapeFacts, p: Params) -> None:
    data, index = s["data"], s["index"]
    if data is None or p.axis is None or not -len(data) <= p.axis < len(data):
        return
    at = p.axis % len(data)
    kept = (1,) if index is not None and len(index) == len(data) else ()
    s.set(
        "index",
        (*data[:at], *kept, *data[at + 1 :]) or (1,),
        because=f"data is {data} without axis {at}",
    )


@register(
    "pick", "choose_element_0index", infer_shape=_infer_pick_shape, types=dtype_of_first_input
)
def pick(
    data: jax.Array,
    index: jax.Array,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
):
    """One entry of ``axis`` of data for each index.

    data (.., d, ..); index has data's shape without that axis, or with size 1 there. Indices
    outside [0, d) are clipped, or with ``wrap`` taken modulo d. Returns index's shape without the
    axis ((1,) for data (d,)), or with ``keepdims`` with size 1 there. The gradient of index is
    zero.
    """
    if axis is None:
        raise AttributeValueError("axis=None is not supported, name an axis")
    at = normal_axis(axis, data.ndim)
    chosen = _in_range(index, data.shape[at], mode)
    if chosen.ndim < data.ndim:
        chosen = lax.expand_dims(chosen, (at,))
    out = jnp.take_along_axis(data, chosen, at, mode="promise_in_bounds")
    return out if keepdims or data.ndim == 1 else lax.squeeze(out, (at,))


IndexedType = Literal[
    "bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"
]


@register("one_hot", types=output_dtype("dtype"))
def one_hot(
    indices: jax.Array,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: IndexedType = "float32",
):
    """``on_value`` at each index of a new last axis of size ``depth``, ``off_value`` elsewhere.

    indices, of any shape (i0, i1, ...), give (i0, i1, ..., depth) of type ``dtype``. An index
    outside [0, depth) gives no ``on_value``. The gradient of indices is zero.
    """
    if depth < 0:
        raise AttributeValueError(f"depth={depth}, expected 0 or more")
    # Without the barrier, each index is made whole again for every entry.
    index = lax.optimization_barrier(integer_indices(indices))[..., None]
    on, off = (_constant(v, dtype) for v in (on_value, off_value))
    return jnp.where(index == jnp.arange(depth, dtype=index.dtype), on, off)


def _constant(value: float, dtype: str) -> jax.Array:
    """``value`` in another type; integers are cut off and wrap around, as in MXNet."""
    if dtype.startswith(("int", "uint")):
        return jnp.asarray(np.asarray(int(value), np.int64).astype(dtype))
    return jnp.asarray(value, dtype)


def infer_embedding_shape(s: ShapeFacts, p: Params) -> None:
    s.set(
        "weight",
        (p.input_dim, p.output_dim),
        because=f"input_dim={p.input_dim} and output_dim={p.output_dim}",
    )
    if s["out0"] is not None:
        s.set("data", s["out0"][:-1])


def _infer_embedding_type(t: TypeFacts, p: Params) -> None:
    t.same("weight", "out0")
    if t["weight"] is None and t["data"] is not None:
        t.set("weight", p.dtype)
        t.set("out0", p.dtype)


@register("Embedding", infer_shape=infer_embedding_shape, types=_infer_embedding_type)
@register(
    "_contrib_SparseEmbedding", infer_shape=infer_embedding_shape, types=_infer_embedding_type
)
def embedding(
    data: jax.Array,
    weight: jax.Array,
    *,
    input_dim: Count,
    output_dim: Count,
    dtype: IndexedType = "float32",
    sparse_grad: Tuning[bool] = False,
    deterministic: Tuning[bool] = False,
):
    """Rows of weight chosen by data.

    data, of any shape (i0, i1, ...), holds indices, clipped to [0, input_dim); weight
    (input_dim, output_dim), of type ``dtype`` unless it is known otherwise. Returns
    (i0, i1, ..., output_dim). The gradient of a row is the sum over its uses, dense whatever
    ``sparse_grad`` says; that of data is zero (MXNet refuses to give one).
    """
    return jnp.take(weight, integer_indices(data), 0, mode="clip")
