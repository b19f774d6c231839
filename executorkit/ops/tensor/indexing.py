"""Entries chosen, gathered, scattered and assigned by index arrays or masks.

Indices may be floats, as in MXNet, and are truncated. Operators that assign exist for arrays only
and change their first input.
"""

import math
from typing import Literal, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from ...errors import (
    AttributeValueError,
    DynamicShapeError,
    MXNetError,
    ShapeError,
    ValueRangeError,
)
from ..schema.attrs import Aux, Count, Shape, Tuning
from ..schema.inference import (
    Params,
    ShapeFacts,
    TypeFacts,
    dtype_of_first_input,
    normal_axis,
    output_dtype,
    same_dtype_among,
    same_shapes,
)
from ..schema.operator_registry import register
from ..schema.traits import MUTATES, NAMED_DATA, NEEDS_VALUES
from ..value_checks import check_values
from .derivatives import with_jvp


def integer_indices(indices: Array) -> Array:
    """Returns indices as integers, truncated towards zero as in MXNet, without a gradient."""
    if jnp.issubdtype(indices.dtype, jnp.integer) and indices.dtype.itemsize >= 4:
        return indices
    return lax.stop_gradient(indices).astype(jnp.int32)


def _in_range(indices: Array, size: int, mode: str = "clip") -> Array:
    index = integer_indices(indices)
    if mode == "wrap":
        return jnp.remainder(index, size)
    return lax.clamp(index.dtype.type(0), index, jnp.asarray(size - 1, index.dtype))


def _check_in_range(
    name: str,
    indices: Array,
    lowest: int,
    axis: int,
    size: int,
    error: type[MXNetError] = MXNetError,
) -> None:
    if not indices.size:
        return
    flat = lax.stop_gradient(indices).ravel()
    wide = flat if jnp.issubdtype(flat.dtype, jnp.floating) else flat.astype(jnp.int64)
    # NaN passes, as in MXNet.
    outside = (wide < lowest) | (wide > size - 1)
    first = jnp.argmax(outside)
    check_values(
        ~outside[first],
        f"operator {name}",
        f"index {{index}} is out of bounds for axis {axis} with size {size}",
        error,
        index=flat[first].astype(jnp.int64),
    )


def _infer_where_shape(s: ShapeFacts, p: Params) -> None:
    s.same("x", "y", "out0")
    condition, x = s["condition"], s["x"]
    if condition is not None and len(condition) > 1:
        s.same("condition", "x", "y", "out0")
    elif condition is not None and x is not None:
        s.set("condition", x[:1], because=f"a vector chooses entries of the first axis, x is {x}")
        s.set("x", (*s["condition"], *x[1:]))


@register("where", infer_shape=_infer_where_shape, infer_type=same_dtype_among("x", "y", "out0"))
def where(condition: Array, x: Array, y: Array):
    """Selects x where condition is not 0 (NaN counts as not 0), else y.

    x and y have one shape (d0, d1, ...); condition has it too, or is a vector (d0,) that chooses
    whole entries of the first axis. condition may be of any type and has a zero gradient.
    """
    chosen = lax.stop_gradient(condition) != 0
    if condition.ndim == 1 and x.ndim > 1:
        chosen = lax.broadcast_in_dim(chosen, x.shape, (0,))
    return lax.select(chosen, x, y)


@register("take", infer_type=dtype_of_first_input, checks_values=lambda p: p.mode == "raise")
def take(
    a: Array, indices: Array, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"
):
    """Takes entries of ``axis`` of a, chosen by indices.

    a (.., d, ..) and indices of any shape (i0, i1, ...) give (.., i0, i1, ..., ..). Indices
    outside [0, d) are clipped, or with ``wrap`` taken modulo d. The gradient of a goes to the
    entries taken; the gradient of indices is zero.

    With ``raise`` an index outside makes reading a result raise MXNetError; its entries are taken
    at the clipped index, where MXNet leaves them undefined.
    """
    at = normal_axis(axis, a.ndim)
    if mode == "raise":
        _check_in_range("take", indices, 0, at, a.shape[at])
    # The gather itself clips.
    index = _in_range(indices, a.shape[at], mode) if mode == "wrap" else integer_indices(indices)
    return jnp.take(a, index, at, mode="clip")


def _infer_batch_take_type(t: TypeFacts, p: Params) -> None:
    t.same("a", "out0")
    t.set("indices", "int32", because="MXNet takes no other indices here")


def _infer_batch_take_shape(s: ShapeFacts, p: Params) -> None:
    if s["a"] is not None:
        s.set("indices", s["a"][:1])
    s.same("indices", "out0")


@register("batch_take", infer_shape=_infer_batch_take_shape, infer_type=_infer_batch_take_type)
def batch_take(a: Array, indices: Array):
    """Computes out[i] = a[i, indices[i]].

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
    picked_axis = (1,) if index is not None and len(index) == len(data) else ()
    picked = (*data[:at], *picked_axis, *data[at + 1 :]) or (1,)
    s.set("index", picked, because=f"data is {data} without axis {at}")


def _picked(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape] | None:
    if p.axis is None:
        return None
    data, at = shapes[0], normal_axis(p.axis, len(shapes[0]))
    return ((*data[:at], *((1,) if p.keepdims or len(data) == 1 else ()), *data[at + 1 :]),)


@register(
    "pick", "choose_element_0index", infer_shape=_infer_pick_shape, output_shapes=_picked,
    infer_type=dtype_of_first_input,
)  # fmt: skip
def pick(
    data: Array,
    index: Array,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
):
    """Takes one entry of ``axis`` of data for each index.

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
    others = tuple([a for a in range(data.ndim) if a != at])
    numbers = lax.GatherDimensionNumbers((), (at,), (at,), others, others)
    sizes = (1,) * data.ndim

    def entries(x: Array, chosen: Array) -> Array:
        start = lax.expand_dims(chosen, (x.ndim,))
        return lax.gather(x, start, numbers, sizes, mode="promise_in_bounds")

    def tangent(t: Array, out: Array, x: Array, chosen: Array) -> Array:
        # Its transpose is one loop, where the gather's scatters into zeros.
        rows = lax.broadcast_in_dim(chosen, t.shape, range(t.ndim))
        at_chosen = lax.eq(lax.broadcasted_iota(chosen.dtype, t.shape, at), rows)
        part = lax.select(at_chosen, t, lax.full_like(t, 0))
        if t.dtype != np.float32:
            return part.sum(at, keepdims=True, dtype=t.dtype)
        return lax.expand_dims(lax.reduce_sum(part, (at,)), (at,))

    out = with_jvp(entries, tangent, None)(data, chosen)
    return out if keepdims or data.ndim == 1 else lax.squeeze(out, (at,))


EntryType = Literal["bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"]


@register("one_hot", infer_type=output_dtype("dtype"))
def one_hot(
    indices: Array,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: EntryType = "float32",
):
    """Puts ``on_value`` at each index of a new last axis of size ``depth``, else ``off_value``.

    indices, of any shape (i0, i1, ...), give (i0, i1, ..., depth) of type ``dtype``. An index
    outside [0, depth) gives no ``on_value``. The gradient of indices is zero.
    """
    if depth < 0:
        raise AttributeValueError(f"depth={depth}, expected 0 or more")
    # Without the barrier, XLA converts each index again for every entry.
    index = lax.optimization_barrier(integer_indices(indices))[..., None]
    on, off = (_cast_constant(v, dtype) for v in (on_value, off_value))
    return jnp.where(index == jnp.arange(depth, dtype=index.dtype), on, off)


def _cast_constant(value: float, dtype: str) -> Array:
    # Truncated and wrapped around for integers as in MXNet.
    if dtype.startswith(("int", "uint")):
        return jnp.asarray(np.asarray(int(value), np.int64).astype(dtype))
    return jnp.asarray(value, dtype)


def infer_embedding_shape(s: ShapeFacts, p: Params) -> None:
    because = f"input_dim={p.input_dim} and output_dim={p.output_dim}"
    s.set("weight", (p.input_dim, p.output_dim), because)
    if s["out0"] is not None:
        s.set("data", s["out0"][:-1])


def _infer_embedding_type(t: TypeFacts, p: Params) -> None:
    t.same("weight", "out0")
    if t["weight"] is None and t["data"] is not None:
        t.set("weight", p.dtype)
        t.set("out0", p.dtype)


@register(
    "Embedding", infer_shape=infer_embedding_shape, infer_type=_infer_embedding_type, kind="dense",
    output_shapes=lambda p, shapes: ((*shapes[0], shapes[1][-1]),),
)  # fmt: skip
@register(
    "_contrib_SparseEmbedding", infer_shape=infer_embedding_shape, infer_type=_infer_embedding_type
)
def embedding(
    data: Array,
    weight: Array,
    *,
    input_dim: Count,
    output_dim: Count,
    dtype: EntryType = "float32",
    sparse_grad: bool = False,
    deterministic: Tuning[bool] = False,
):
    """Looks up rows of weight by data.

    data, of any shape (i0, i1, ...), holds indices, clipped to [0, input_dim); weight
    (input_dim, output_dim), of type ``dtype`` unless it is known otherwise. Returns
    (i0, i1, ..., output_dim). The gradient of a row is the sum over its uses, dense in spite of
    ``sparse_grad``; data's is zero (MXNet refuses to compute it).
    """
    return jnp.take(weight, integer_indices(data), 0, mode="clip")


def _index_tuple(indices: Array, axes: int) -> tuple[Array, ...]:
    if indices.ndim < 2 or indices.shape[0] > axes:
        raise ShapeError(f"'indices' is {indices.shape}, expected (M, ...) with M up to {axes}")
    return tuple(integer_indices(indices))


@register("gather_nd", infer_type=dtype_of_first_input, checks_values=True)
def gather_nd(data: Array, indices: Array):
    """Computes out[j, ...] = data[indices[0, j], ..., indices[M - 1, j], ...].

    data (d0, d1, ...); indices (M, j0, j1, ...) holds in its first axis the M first coordinates of
    each entry. Returns (j0, j1, ..., dM, ...). Negative coordinates count from the end of their
    axis of size d; reading a result of one outside [-d, d) raises IndexError, after which the
    coordinate is taken modulo d. The gradient is added up over the entries gathered; indices get
    zero. (MXNet adds the gradient of negative coordinates to other entries, or to memory beyond the
    array.)
    """
    _index_tuple(indices, data.ndim)
    wrapped = []
    for axis, (row, size) in enumerate(zip(indices, data.shape, strict=False)):
        _check_in_range("gather_nd", row, -size, axis, size, ValueRangeError)
        # Added first: fractions of negative coordinates are rounded downwards, as in MXNet.
        from_start = integer_indices(jnp.where(row < 0, row + jnp.asarray(size, row.dtype), row))
        wrapped.append(jnp.remainder(from_start, size))
    return data.at[tuple(wrapped)].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _scatter_add(shape: Shape, unique: bool, data: Array, *where: Array) -> Array:
    return jnp.zeros(shape, data.dtype).at[where].set(data, mode="drop", unique_indices=unique)


def _targets(data: Array, indices: Array, shape: Shape) -> tuple[Array, ...]:
    where = _index_tuple(indices, len(shape))
    expected = (*indices.shape[1:], *shape[indices.shape[0] :])
    if data.shape != expected:
        problem = f"'data' is {data.shape}, expected {expected}"
        raise ShapeError(problem, because=f"indices is {indices.shape} and shape={shape}")
    return where


@register("scatter_nd", infer_type=dtype_of_first_input)
def scatter_nd(data: Array, indices: Array, *, shape: Shape):
    """Computes out[indices[0, j], ..., indices[M - 1, j], ...] = data[j, ...], zeros elsewhere.

    data (j0, j1, ..., sM, ...); indices (M, j0, j1, ...); ``shape`` (s0, s1, ...) is the shape of
    the result. Where indices name an entry twice one of the values stays; each of them gets the
    entry's gradient, as in MXNet. Entries outside are dropped.
    """
    where = _targets(data, indices, shape)

    def scatter(data: Array, *where: Array) -> Array:
        return _scatter_add(shape, False, data, *where)

    def rule(tangent: Array, out: Array, data: Array, *where: Array) -> Array:
        # Unique indices make the transpose a plain gather; jax's own also zeroes the values lost.
        return _scatter_add(shape, True, tangent, *where)

    return with_jvp(scatter, rule, *(None for _ in where))(data, *where)


@register("_backward_gather_nd", infer_type=dtype_of_first_input)
def backward_gather_nd(data: Array, indices: Array, *, shape: Shape):
    """Computes out[indices[0, j], ..., indices[M - 1, j], ...] as the sum of all data[j, ...] with
    these indices: the gradient of ``gather_nd``.

    data (j0, j1, ..., sM, ...); indices (M, j0, j1, ...); ``shape`` (s0, s1, ...) is the shape of
    the result. Each data[j, ...] gets the gradient of its sum. Entries outside are dropped.
    """
    where = _targets(data, indices, shape)
    return jnp.zeros(shape, data.dtype).at[where].add(data, mode="drop")


def _strides(shape: Shape) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _infer_ravel_shape(s: ShapeFacts, p: Params) -> None:
    out = s["out0"]
    if p.shape is not None:
        s.set("data", (len(p.shape), out[0] if out is not None else 0), because=f"shape={p.shape}")


@register(
    "_ravel_multi_index", "ravel_multi_index", infer_shape=_infer_ravel_shape, traits={NAMED_DATA}
)
def ravel_multi_index(data: Array, *, shape: Shape | None = None):
    """Returns the position of each coordinate tuple in an array of ``shape``, last axis fastest.

    data (len(shape), N) holds a tuple in each column; the first entry of ``shape`` does not
    matter. Returns (N,), of data's type. Coordinates are not checked. The gradient is zero.
    """
    if not shape or data.ndim != 2 or data.shape[0] != len(shape):
        raise ShapeError(f"'data' is {data.shape}, expected ({len(shape or ())}, N), shape={shape}")
    rows = integer_indices(data)
    strides = jnp.asarray(np.array(_strides(shape)), rows.dtype)
    return (rows * strides[:, None]).sum(0, dtype=rows.dtype).astype(data.dtype)


@register("_unravel_index", "unravel_index", traits={NAMED_DATA})
def unravel_index(data: Array, *, shape: Shape | None = None):
    """Returns the coordinates of each position in an array of ``shape``, last axis fastest.

    data (N,) gives (len(shape), N), of data's type; the first entry of ``shape`` does not matter.
    Further axes of data stay (MXNet returns garbage for them). The gradient is zero.
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
    infer_type=same_dtype_among("old_tensor", "new_tensor", "out0"),
)
def index_copy(old_tensor: Array, index_vector: Array, new_tensor: Array):
    """Replaces the entries of the first axis of old_tensor named by index_vector.

    old_tensor (d0, d1, ...); index_vector (K,); new_tensor (K, d1, ...). The gradient of replaced
    entries is zero, and so is index_vector's.
    """
    if index_vector.ndim != 1:
        raise ShapeError(f"'index_vector' is {index_vector.shape}, expected (K,)")
    return old_tensor.at[integer_indices(index_vector)].set(new_tensor)


@register("_contrib_index_array", infer_type=output_dtype("int64"), traits={NAMED_DATA})
def index_array(data: Array, *, axes: Shape | None = None):
    """Returns the coordinates of every element of data.

    data (d0, d1, ...) gives (d0, d1, ..., n), int64: all n = data.ndim coordinates of each
    element, or the ones in ``axes``. data's values do not matter, its gradient is zero.
    """
    if not data.ndim:
        return jnp.zeros(len(axes or ()), jnp.int64)
    named = range(data.ndim) if axes is None else [a % data.ndim for a in axes]
    rows = [lax.broadcasted_iota(jnp.int64, data.shape, a) for a in named]
    return jnp.stack(rows, -1) if rows else jnp.zeros((*data.shape, 0), jnp.int64)


def _infer_rows_shape(s: ShapeFacts, p: Params) -> None:
    s.same("lhs", "out0")
    if s["lhs"] is not None:
        for name in ("mhs", "rhs"):
            s.set(name, s["lhs"][:1], because="there is one for each row of lhs")


@register("fill_element_0index", traits={MUTATES}, infer_shape=_infer_rows_shape)
def fill_element_0index(lhs: Array, mhs: Array, rhs: Array):
    """Sets lhs[i, rhs[i]] = mhs[i] for every row i.

    lhs (N, K); mhs and rhs (N,), all of one dtype. Returns (N, K). For arrays only.
    """
    if lhs.ndim != 2:
        raise ShapeError(f"'lhs' is {lhs.shape}, expected (N, K)")
    rows = jnp.arange(lhs.shape[0], dtype="int32")
    return lhs.at[rows, integer_indices(rhs)].set(mhs, mode="drop")


def _infer_onehot_shape(s: ShapeFacts, p: Params) -> None:
    s.same("rhs", "out0")
    if s["rhs"] is not None:
        s.set("lhs", s["rhs"][:1], because="there is one index for each row of rhs")


@register("_onehot_encode", traits={MUTATES}, infer_shape=_infer_onehot_shape)
def onehot_encode(lhs: Array, rhs: Array):
    """Returns rows with 1 at the index in lhs and 0 elsewhere.

    lhs (N,) of indices and rhs (N, K), which gives shape and dtype. Returns (N, K), usually into
    ``out=rhs``. For arrays only.
    """
    return jax.nn.one_hot(integer_indices(lhs), rhs.shape[1], dtype=rhs.dtype)


@register("_scatter_set_nd", traits={MUTATES}, infer_type=same_dtype_among("lhs", "rhs", "out0"))
def scatter_set_nd(lhs: Aux, rhs: Array, indices: Array, *, shape: Shape):
    """Sets lhs[indices[0, j], ..., indices[M - 1, j], ...] = rhs[j, ...], in place.

    lhs has ``shape``; indices (M, j0, ...) hold coordinates in their first axis; rhs
    (j0, ..., dM, ...). Returns lhs, which must be ``out`` in MXNet. For arrays only.
    """
    if lhs.shape != shape:
        raise ShapeError(f"'lhs' is {lhs.shape}, expected shape={shape}")
    new = lhs.at[tuple(integer_indices(indices))].set(rhs, mode="drop")
    return new, new


@register("_copyto", traits={MUTATES}, infer_shape=same_shapes, infer_type=dtype_of_first_input)
def copyto(data: Array):
    """Copies data, of any shape and dtype, to ``out``. For arrays only."""
    return data


def _infer_mask_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is not None and -len(data) <= p.axis < len(data):
        s.set("index", (data[p.axis],), because=f"data is {data} and axis={p.axis}")


@register(
    "_contrib_boolean_mask",
    infer_shape=_infer_mask_shape,
    infer_type=dtype_of_first_input,
    traits={NEEDS_VALUES},
)
def boolean_mask(data: Array, index: Array, *, axis: int = 0):
    """Returns the entries of ``axis`` of data at which index is not 0.

    data (.., d, ..) and index (d,) give (.., number of nonzero entries, ..). The size of the result
    depends on the values of index, so the operator works on arrays (``mx.nd.contrib``) and not in a
    compiled graph; there, multiply by the mask, or use SequenceMask.
    """
    at = normal_axis(axis, data.ndim)
    if index.shape != (data.shape[at],):
        raise ShapeError(f"'index' is {index.shape}, expected ({data.shape[at]},)")
    index = lax.stop_gradient(index)  # so that its values are known while data is differentiated
    if isinstance(index, Tracer):
        raise DynamicShapeError(
            "_contrib_boolean_mask",
            "the size of its result depends on the values of index, "
            "which are not known while a program is compiled",
            hint="mx.nd.contrib.boolean_mask on arrays; in a graph, multiply by the mask",
        )
    return jnp.take(data, np.flatnonzero(np.asarray(index)), at)


@register("_contrib_getnnz", infer_type=output_dtype("int64"))
def getnnz(data: Array, *, axis: int | None = None) -> NoReturn:
    """Refuses to count the stored elements of a CSR matrix, because arrays here are dense.

    MXNet refuses dense arrays of any shape too.
    """
    problem = "it counts the stored elements of a CSR matrix, and arrays here are dense"
    raise MXNetError("_contrib_getnnz", problem, hint="(data != 0).sum()")
