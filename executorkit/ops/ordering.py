"""Sorting. Ties keep the order in which they stand, whichever way is sorted."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ShapeError
from ._axes import normal_axis
from ._facts import Params, TypeFacts
from ._ordering import descending, order
from ._registry import register
from ._rules import output_dtype

IndexType = Literal["float16", "float32", "float64", "int32", "int64", "uint8"]


def _flatten_for_axis(data: jax.Array, axis: int | None) -> tuple[jax.Array, int]:
    if axis is None:
        return data.reshape(-1), 0
    return data, normal_axis(axis, data.ndim)


def _topk_outputs(p: Params) -> tuple[str, ...]:
    return ("output0", "output1") if p.ret_typ in ("value", "both") else ("output",)


def _infer_topk_type(t: TypeFacts, p: Params) -> None:
    if p.ret_typ == "indices":
        t.set("out0", p.dtype)
    else:
        t.same("data", "out0")
        t.set("out1", p.dtype)


@register(
    "topk",
    outputs=_topk_outputs,
    visible=lambda p: 2 if p.ret_typ == "both" else 1,
    types=_infer_topk_type,
)
def topk(
    data: jax.Array,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: IndexType = "float32",
):
    """The ``k`` largest (``is_ascend``: smallest) entries along ``axis``, in order.

    data may have any shape; ``axis=None`` flattens it, ``k`` < 1 means all entries. Returns, with
    size k along the axis, the values, or their indices as numbers of type ``dtype``, or both
    (values first), or with ``mask`` data's shape with 1 at the entries chosen and 0 elsewhere.
    The gradient of values goes to the entries chosen; indices and mask have none.
    """
    flat, at = _flatten_for_axis(data, axis)
    size = flat.shape[at]
    if k > size:
        raise ShapeError(f"k={k}, expected at most {size}: data is {data.shape}, axis={axis}")
    key = lax.stop_gradient(descending(flat) if is_ascend else flat)
    k = k if k > 0 else size
    if 4 * k > size:  # most of a sort
        index = lax.slice_in_dim(order(key, at, ascending=False), 0, k, axis=at)
    else:
        index = jnp.moveaxis(lax.top_k(jnp.moveaxis(key, at, -1), k)[1], -1, at)
    if ret_typ == "mask":
        one = jnp.ones((), data.dtype)
        mask = jnp.put_along_axis(jnp.zeros_like(flat), index, one, at, inplace=False)
        return mask.reshape(data.shape)
    numbers = index.astype(dtype)
    if ret_typ == "indices":
        return numbers
    return jnp.take_along_axis(flat, index, at, mode="promise_in_bounds"), numbers


def _infer_sort_type(t: TypeFacts, p: Params) -> None:
    t.same("data", "out0")
    t.set("out1", "int32")


@register("sort", outputs=("output0", "output1"), visible=1, types=_infer_sort_type)
def sort(data: jax.Array, *, axis: int | None = -1, is_ascend: bool = True):
    """data sorted along ``axis``, ascending or descending.

    data may have any shape; ``axis=None`` flattens it. The gradient goes to where each entry came
    from (in MXNet it fails unless ``axis`` is given). A hidden second output holds the indices.
    """
    flat, at = _flatten_for_axis(data, axis)
    index = order(flat, at, is_ascend)
    return jnp.take_along_axis(flat, index, at, mode="promise_in_bounds"), index


@register("argsort", types=output_dtype("dtype"))
def argsort(
    data: jax.Array,
    *,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: IndexType = "float32",
):
    """The indices that sort data along ``axis``, as numbers of type ``dtype``.

    data may have any shape; ``axis=None`` flattens it. Of equal entries the first comes first,
    ascending or descending. The gradient is zero.
    """
    flat, at = _flatten_for_axis(data, axis)
    return order(flat, at, is_ascend).astype(dtype)
