"""Operators whose result has a shape that depends on values: they run uncompiled, on arrays."""

from __future__ import annotations

from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..errors import DynamicShapeError, MXNetError, ShapeError, explain
from ._axes import normal_axis
from ._facts import Params, ShapeFacts, TypeFacts
from ._registry import register
from ._rules import dtype_of_first_input


def _infer_mask_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is not None and -len(data) <= p.axis < len(data):
        s.set("index", (data[p.axis],), because=f"data is {data} and axis={p.axis}")


@register("_contrib_boolean_mask", infer_shape=_infer_mask_shape, types=dtype_of_first_input)
def boolean_mask(data: jax.Array, index: jax.Array, *, axis: int = 0):
    """The entries of ``axis`` of data at which index is not 0.

    data (.., d, ..) and index (d,) give (.., number of nonzero entries, ..). The size of the result
    depends on the values of index, so the operator works on arrays (``mx.nd.contrib``) and not in a
    compiled graph; there, multiply by the mask, or use SequenceMask.
    """
    at = normal_axis(axis, data.ndim)
    if index.shape != (data.shape[at],):
        raise ShapeError(f"'index' is {index.shape}, expected ({data.shape[at]},)")
    if isinstance(index, Tracer):
        raise DynamicShapeError(
            explain(
                "_contrib_boolean_mask",
                "the size of its result depends on the values of index, "
                "which are not known while a program is compiled",
                hint="mx.nd.contrib.boolean_mask on arrays; in a graph, multiply by the mask",
            )
        )
    return jnp.take(data, np.flatnonzero(np.asarray(index)), at)


def _infer_nnz_type(t: TypeFacts, p: Params) -> None:
    t.set("out0", "int64")


@register("_contrib_getnnz", types=_infer_nnz_type)
def getnnz(data: jax.Array, *, axis: int | None = None) -> NoReturn:
    """The number of stored elements of a CSR matrix: refused, because arrays here are dense.

    MXNet refuses dense arrays of any shape too.
    """
    raise MXNetError(
        explain(
            "_contrib_getnnz",
            "it counts the stored elements of a CSR matrix, and arrays here are dense",
            hint="(data != 0).sum()",
        )
    )
