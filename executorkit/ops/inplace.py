"""Assignments written as operators. They exist for arrays only and change their first input."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..errors import ShapeError
from ._attrs import Aux, Shape
from ._facts import Params, ShapeFacts
from ._registry import register
from ._rules import dtype_of_first_input, same_dtype_among, same_shapes
from .indexing import integer_indices


def _infer_rows_shape(s: ShapeFacts, p: Params) -> None:
    s.same("lhs", "out0")
    if s["lhs"] is not None:
        for name in ("mhs", "rhs"):
            s.set(name, s["lhs"][:1], because="there is one for each row of lhs")


@register("fill_element_0index", mutates=True, infer_shape=_infer_rows_shape)
def fill_element_0index(lhs: jax.Array, mhs: jax.Array, rhs: jax.Array):
    """lhs with lhs[i, rhs[i]] = mhs[i] for every row i.

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


@register("_onehot_encode", mutates=True, infer_shape=_infer_onehot_shape)
def onehot_encode(lhs: jax.Array, rhs: jax.Array):
    """Rows with 1 at the index that lhs holds and 0 elsewhere.

    lhs (N,) of indices and rhs (N, K), which gives shape and dtype. Returns (N, K), usually into
    ``out=rhs``. For arrays only.
    """
    return jax.nn.one_hot(integer_indices(lhs), rhs.shape[1], dtype=rhs.dtype)


@register("_scatter_set_nd", mutates=True, types=same_dtype_among("lhs", "rhs", "out0"))
def scatter_set_nd(lhs: Aux, rhs: jax.Array, indices: jax.Array, *, shape: Shape):
    """lhs with lhs[indices[0, j], ..., indices[M - 1, j], ...] = rhs[j, ...], in place.

    lhs has ``shape``; indices (M, j0, ...) hold coordinates in their first axis; rhs
    (j0, ..., dM, ...). Returns lhs, which must be ``out`` in MXNet. For arrays only.
    """
    if lhs.shape != shape:
        raise ShapeError(f"'lhs' is {lhs.shape}, expected shape={shape}")
    new = lhs.at[tuple(integer_indices(indices))].set(rhs, mode="drop")
    return new, new


@register("_copyto", mutates=True, infer_shape=same_shapes, types=dtype_of_first_input)
def copyto(data: jax.Array):
    """data, of any shape and dtype: with ``out`` it is copied there. For arrays only."""
    return data
