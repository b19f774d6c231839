"""Multi-head attention on interleaved projections: the layout of BERT's checkpoints.

Projections (length, batch, heads * parts * size) hold, head by head, the query, key and value (or
key and value) of one head side by side.
"""

import math
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..schema.inference import same_shapes
from ..schema.operator_registry import register
from ..schema.traits import MATMUL
from ..tracing import is_known


def _root(size: Any, dtype: jnp.dtype) -> Array:
    root = math.sqrt(size) if is_known(size) else jnp.sqrt(jnp.asarray(size, "float32"))
    return jnp.asarray(root).astype(dtype)


def _parts(x: Array, name: str, heads: int, count: int) -> list[Array]:
    # The ``count`` parts of a projection, each (batch, heads, length, size).
    if x.ndim != 3 or heads < 1 or x.shape[2] % (heads * count):
        raise ShapeError(
            f"{name!r} is {x.shape}, expected (length, batch, a multiple of {count} * {heads})",
            because=f"heads={heads}",
        )
    length, batch, _ = x.shape
    split = x.reshape(length, batch, heads, count, -1)
    return [split[:, :, :, i].transpose(1, 2, 0, 3) for i in range(count)]


def _scores(query: Array, key: Array) -> Array:
    # query key^T / sqrt(size), (batch * heads, query length, key length).
    scores = jnp.einsum("bhqd,bhkd->bhqk", query / _root(query.shape[-1], query.dtype), key)
    return scores.reshape(-1, *scores.shape[2:])


def _weighted(attention: Array, value: Array) -> Array:
    # attention value, with the heads side by side again: (query length, batch, heads * size).
    batch, heads, length, size = value.shape
    if attention.ndim != 3 or attention.shape[::2] != (batch * heads, length):
        problem = f"'attention' is {attention.shape}, expected ({batch * heads}, length, {length})"
        raise ShapeError(problem, because="that is batch * heads, and the length of keys_values")
    out = jnp.einsum("bhqk,bhkd->qbhd", attention.reshape(batch, heads, -1, length), value)
    return out.reshape(out.shape[0], batch, heads * size)


@register("_contrib_interleaved_matmul_selfatt_qk", traits={MATMUL})
def interleaved_matmul_selfatt_qk(queries_keys_values: Array, *, heads: int):
    """Computes attention scores of every position with every other: q k^T / sqrt(size) per head.

    queries_keys_values (length, batch, heads * 3 * size): for each head, query, key and value side
    by side. Returns (batch * heads, length, length).
    """
    query, key, _ = _parts(queries_keys_values, "queries_keys_values", heads, 3)
    return _scores(query, key)


@register("_contrib_interleaved_matmul_selfatt_valatt", traits={MATMUL})
def interleaved_matmul_selfatt_valatt(queries_keys_values: Array, attention: Array, *, heads: int):
    """Sums the values weighted by attention, head by head.

    queries_keys_values (length, batch, heads * 3 * size), of which only values are used; attention
    (batch * heads, length, length). Returns (length, batch, heads * size).
    """
    _, _, value = _parts(queries_keys_values, "queries_keys_values", heads, 3)
    return _weighted(attention, value)


@register("_contrib_interleaved_matmul_encdec_qk", traits={MATMUL})
def interleaved_matmul_encdec_qk(queries: Array, keys_values: Array, *, heads: int):
    """Computes attention scores of each query with every key: q k^T / sqrt(size) per head.

    queries (query length, batch, heads * size); keys_values (key length, batch, heads * 2 * size):
    for each head, key and value side by side. Returns (batch * heads, query length, key length).
    """
    (query,) = _parts(queries, "queries", heads, 1)
    key, _ = _parts(keys_values, "keys_values", heads, 2)
    if query.shape[:2] != key.shape[:2] or query.shape[3] != key.shape[3]:
        raise ShapeError(
            f"'keys_values' is {keys_values.shape}, expected (length, {queries.shape[1]}, "
            f"{2 * queries.shape[2]}): queries is {queries.shape}"
        )
    return _scores(query, key)


@register("_contrib_interleaved_matmul_encdec_valatt", traits={MATMUL})
def interleaved_matmul_encdec_valatt(keys_values: Array, attention: Array, *, heads: int):
    """Sums the values weighted by attention, head by head.

    keys_values (key length, batch, heads * 2 * size), of which only values are used; attention
    (batch * heads, query length, key length). Returns (query length, batch, heads * size).
    """
    _, value = _parts(keys_values, "keys_values", heads, 2)
    return _weighted(attention, value)


@register("_contrib_div_sqrt_dim", infer_shape=same_shapes)
def div_sqrt_dim(data: Array):
    """Divides data by sqrt(size of its last axis), for any shape and dtype, which stay.

    Integers are divided by the truncated root, and truncated.
    """
    return lax.div(data, _root(data.shape[-1], data.dtype))
