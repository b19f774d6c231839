"""Running sums and histograms."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..errors import AttributeValueError
from ._arith import convert
from ._attrs import Floats
from ._axes import normal_axis
from ._facts import Params, TypeFacts
from ._registry import register


def _infer_cumsum_type(t: TypeFacts, p: Params) -> None:
    if p.dtype is None:
        t.same()
    else:
        t.set("out0", p.dtype)


@register("_np_cumsum", "cumsum", types=_infer_cumsum_type)
def cumsum(
    a: jax.Array,
    *,
    axis: int | None = None,
    dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
):
    """Running sums along ``axis``: out[i] = a[0] + ... + a[i].

    a has any shape, the result the same; with axis None a is flattened first, which gives (number
    of elements,). Elements are converted to ``dtype``, if it is given, before they are added.
    """
    x = a.reshape(-1) if axis is None else a
    return lax.cumsum(convert(x, dtype or a.dtype.name), normal_axis(axis or 0, x.ndim))


def _histogram_inputs(p: Params) -> tuple[str, ...]:
    return ("data", "bins") if p.bin_cnt is None else ("data",)


def _infer_histogram_type(t: TypeFacts, p: Params) -> None:
    t.set("out0", "int64")
    t.same(*(n for n in t if n != "out0"))


def _even_bins(
    data: jax.Array, count: int, low: float, high: float
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The bin of each element, whether it is in any, and the edges.

    The bin follows from the element's distance to ``low``; where the edges, which are rounded to
    data's dtype, disagree, the one beside it is taken.
    """
    place = np.arange(count + 1)
    edges = convert(jnp.asarray((high * place + low * place[::-1]) / count), data.dtype.name)
    exact = data.astype("float64")
    found = jnp.floor((exact - low) * count / (high - low)).astype("int32")
    found = jnp.clip(found, 0, count - 1)
    above = (data >= edges[found + 1]) & (found < count - 1)
    found = jnp.where(data < edges[found], found - 1, jnp.where(above, found + 1, found))
    return jnp.maximum(found, 0), (exact >= low) & (exact <= high), edges


@register(
    "_histogram",
    inputs=_histogram_inputs,
    outputs=("output0", "output1"),
    types=_infer_histogram_type,
)
def histogram(
    data: jax.Array,
    bins: jax.Array | None = None,
    *,
    bin_cnt: int | None = None,
    range: Floats | None = None,
):
    """How many elements of data lie in each bin, and the edges of the bins, as two outputs.

    data has any shape. Bins are given by their edges (count + 1,), which increase, or by
    ``bin_cnt`` and ``range``, (low, high), which are divided evenly. A bin contains its lower edge;
    the last one contains its upper edge too. What lies outside is not counted. Returns int64
    (count,) and the edges (count + 1,) in data's dtype. Gradients are zero.
    """
    data = lax.stop_gradient(data).reshape(-1)
    if bins is None:
        if range is None or len(range) != 2 or not range[0] < range[1] or not bin_cnt:
            raise AttributeValueError(
                f"bin_cnt={bin_cnt} and range={range}, expected a count and (low, high)"
            )
        found, inside, edges = _even_bins(data, bin_cnt, *range)
    else:
        edges = lax.stop_gradient(bins)
        found = jnp.searchsorted(edges, data, side="right").astype("int32") - 1
        found = jnp.where(data == edges[-1], edges.shape[0] - 2, found)
        inside = (data >= edges[0]) & (data <= edges[-1])
    count = edges.shape[0] - 1
    counts = jnp.zeros(count, "int64").at[found].add(inside.astype("int64"), mode="drop")
    return counts, edges
