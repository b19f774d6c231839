"""Reductions over axes, running sums, histograms and ``allclose``.

A reduction over all axes gives shape (1,), not a 0-dimensional array.
"""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._support.annotations import Raw
from ...errors import AttributeValueError, ShapeError
from ..schema.attrs import Floats, Shape
from ..schema.inference import (
    Params,
    TypeFacts,
    dtype_or_same,
    normal_axes,
    normal_axis,
    output_dtype,
    same_dtype_among,
    same_shapes_among,
)
from ..schema.operator_registry import named, register
from ..tracing import is_known
from .binary_arithmetic import convert, is_floating, widest
from .derivatives import with_jvp
from .ordering import argmax, argmin

#: ``fn(x, axes)``: a reduction with ``keepdims``.
Reduction = Callable[[Array, tuple[int, ...]], Array]


def reduced_axes(axis: Shape | None, ndim: int, exclude: bool = False) -> tuple[int, ...]:
    # The axes to reduce, counted from the front; None or () means all.
    if not axis:
        return tuple(range(ndim))
    axes = normal_axes(axis, ndim, "axis")
    return tuple(a for a in range(ndim) if a not in axes) if exclude else axes


def _restore_axes(reduced: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    if keepdims:
        return reduced
    if len(axes) < reduced.ndim:
        return lax.squeeze(reduced, axes)
    return lax.reshape(reduced, (1,))


def _reduced(
    primitive: Callable[[Array, tuple[int, ...]], Array], x: Array, axes: tuple[int, ...]
) -> Array:
    # By a primitive, traced in a third of the time of JAX's NumPy, which jits each of its
    # functions.
    reduced = primitive(x, axes)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    return lax.broadcast_in_dim(reduced, shape, [a for a in range(x.ndim) if a not in axes])


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    if x.dtype in (jnp.float32, jnp.float64):
        return _reduced(lax.reduce_sum, x, axes)
    return jnp.sum(x, axes, keepdims=True, dtype=x.dtype)


def _extreme(
    primitive: Callable[[Array, tuple[int, ...]], Array], general: Callable[..., Array]
) -> Reduction:
    def run(x: Array, axes: tuple[int, ...]) -> Array:
        if x.dtype == bool or not is_known(*x.shape):
            return general(x, axes, keepdims=True)
        if 0 in x.shape:
            raise ShapeError(f"data is {x.shape}: no elements have no maximum and no minimum")
        return _reduced(primitive, x, axes)

    return run


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    count = 1
    for a in axes:
        count *= x.shape[a]
    total = _sum(x, axes)
    if is_floating(x):
        return total / count
    if x.dtype == bool:
        return total
    return lax.div(total.astype(jnp.int64), jnp.full_like(total, count, jnp.int64)).astype(x.dtype)


def _prod(x: Array, axes: tuple[int, ...]) -> Array:
    return jnp.prod(x, axes, keepdims=True, dtype=x.dtype)


def _with_tangent(fn: Reduction, rule: Callable[..., Array]) -> Reduction:
    def run(x: Array, axes: tuple[int, ...]) -> Array:
        return with_jvp(
            lambda y: fn(y, axes),
            lambda t, out, y: jnp.sum(rule(t, out, y), axes, keepdims=True, dtype=t.dtype),
        )(x)

    return run


def _without_nan(x: Array, instead: int) -> Array:
    return jnp.where(jnp.isnan(x), instead, x) if is_floating(x) else x


def _ties(t: Array, out: Array, x: Array) -> Array:
    return jnp.where(x == out, t, 0)


_TIES = "Every element that equals the result gets the whole head gradient."

#: Operator name: (aliases, function, equation, remark).
REDUCTIONS: dict[str, tuple[tuple[str, ...], Reduction, str, str]] = {
    "sum": (("sum_axis",), _sum, "Sum", "Narrow integers wrap."),
    "_square_sum": ((), lambda x, axes: _sum(x * x, axes), "Sum of squares",
                    "MXNet has it for row_sparse arrays only."),
    "mean": ((), _mean, "Arithmetic mean",
             "For integers the sum wraps and is then divided towards zero."),
    "prod": ((), _with_tangent(_prod, lambda t, out, x: t * (out / x)), "Product",
             "The gradient is out / x, so NaN where x is 0."),
    "nansum": (
        (),
        _with_tangent(
            lambda x, axes: _sum(_without_nan(x, 0), axes),
            lambda t, out, x: jnp.where(jnp.isnan(x), 0, t),
        ),
        "Sum of all that is not NaN",
        "",
    ),
    "nanprod": (
        (),
        _with_tangent(
            lambda x, axes: _prod(_without_nan(x, 1), axes),
            lambda t, out, x: t * jnp.where(jnp.isnan(x), 0, out / x),
        ),
        "Product of all that is not NaN",
        "The gradient is out / x, so NaN where x is 0.",
    ),
    "max": (("max_axis",), _with_tangent(_extreme(lax.reduce_max, jnp.max), _ties),
            "Maximum", _TIES),
    "min": (("min_axis",), _with_tangent(_extreme(lax.reduce_min, jnp.min), _ties),
            "Minimum", _TIES),
}  # fmt: skip


def _reduction(name: str, fn: Reduction, equation: str, remark: str) -> Callable[..., Array]:
    def op(
        data: Array, *, axis: Shape | None = None, keepdims: bool = False, exclude: bool = False
    ) -> Array:
        axes = reduced_axes(axis, data.ndim, exclude)
        return _restore_axes(fn(data, axes), axes, keepdims)

    doc = (
        f"{equation} over ``axis``.\n\n"
        "data has any shape. axis None or () means all axes, which gives shape (1,); with "
        "``exclude`` the axes that are not named are reduced; with ``keepdims`` reduced axes stay "
        f"with size 1. The dtype is data's. {remark}"
    )
    return named(op, name, doc)


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape]:
    axes, kept = reduced_axes(p.axis, len(shapes[0]), p.exclude), (1,) if p.keepdims else ()
    sizes = sum([kept if a in axes else (n,) for a, n in enumerate(shapes[0])], ())
    return (sizes if sizes or p.keepdims else (1,),)


for _name, (_aliases, _fn, _equation, _remark) in REDUCTIONS.items():
    _operator = _reduction(_name, _fn, _equation, _remark)
    register(_name, *_aliases, output_shapes=_output_shapes)(_operator)


def root_of_squares(
    x: Array, axes: tuple[int, ...], root: Callable[[Array], Array] = lax.sqrt
) -> Array:
    """Returns the root of the sum of squares, in float64 where squares overflow or vanish."""

    def in_float64() -> Array:
        wide = widest(x)
        return root(_sum(wide * wide, axes)).astype(x.dtype)

    total = _sum(x * x, axes)
    is_usual = jnp.all(lax.clamp(total.dtype.type(1e-30), total, total.dtype.type(1e38)) == total)
    return lax.cond(is_usual, lambda: root(total), in_float64)


@register("norm", infer_type=dtype_or_same("out_dtype"))
def norm(
    data: Array,
    *,
    ord: Literal[1, 2] = 2,
    axis: Shape | None = None,
    out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    keepdims: bool = False,
) -> Array:
    """Sums magnitudes (``ord=1``) or takes the root of the sum of squares (``ord=2``) over
    ``axis``.

    data has any shape. axis None means all axes, which gives shape (1,); with ``keepdims`` reduced
    axes stay with size 1. The result is of ``out_dtype`` or data's dtype; integers and float16 are
    computed in float32, integers truncated, where MXNet computes in integers throughout. Gradients
    are sign(x) and x / out, the latter NaN where the norm is 0.
    """
    axes = reduced_axes(axis, data.ndim)
    dtype = out_dtype or data.dtype.name
    is_wide = is_floating(data) and data.dtype.itemsize > 2
    x: Raw = data if is_wide else data.astype(jnp.float32)
    if jnp.dtype(dtype).itemsize > x.dtype.itemsize and jnp.issubdtype(dtype, jnp.floating):
        x = x.astype(dtype)
    if ord == 1:
        run = _with_tangent(lambda y, a: _sum(jnp.abs(y), a), lambda t, out, y: t * jnp.sign(y))
    else:
        run = _with_tangent(root_of_squares, lambda t, out, y: t * (y / out))
    return _restore_axes(convert(run(x, axes), dtype), axes, keepdims)


@register("moments", outputs=("output0", "output1"))
def moments(data: Array, *, axes: Shape | None = None, keepdims: bool = False):
    """Computes the mean of data over ``axes``, and the variance (divided by the count).

    data has any shape and a floating dtype; axes None means all axes, which gives shape (1,); with
    ``keepdims`` reduced axes stay with size 1.
    """
    over = reduced_axes(axes, data.ndim)
    mean = _mean(data, over)
    moments = (mean, _mean(jnp.square(data - mean), over))
    return tuple(_restore_axes(x, over, keepdims) for x in moments)


_ARG = """Position of the {word} element along ``axis``, in data's dtype.

data has any shape. axis None means all axes, counted in row-major order, which gives shape (1,);
with ``keepdims`` reduced axes stay with size 1. Of equal elements the first counts, and NaN counts
as {word}. The gradient is zero. Positions above 2048 are inexact for float16, as in MXNet.
"""


def _arg_extreme(name: str, word: str, fn: Callable[..., Array]) -> Callable[..., Array]:
    def op(data: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
        if axis is None:
            axes, flat, along = tuple(range(data.ndim)), data.reshape(-1), 0
        else:
            axes = normal_axes((axis,), data.ndim, "axis")
            flat, along = data, axes[0]
        position = fn(lax.stop_gradient(flat), along).astype(data.dtype)
        shape = tuple(1 if a in axes else n for a, n in enumerate(data.shape))
        return _restore_axes(position.reshape(shape), axes, keepdims)

    return named(op, name, _ARG.format(word=word))


register("argmax")(_arg_extreme("argmax", "largest", argmax))
register("argmin")(_arg_extreme("argmin", "smallest", argmin))


@register("argmax_channel")
def argmax_channel(data: Array) -> Array:
    """Returns the position of the largest element along axis 1, in data's dtype.

    data (N, C, ...) gives (N, ...). Of equal elements the first counts. The gradient is zero
    (MXNet refuses to compute one).
    """
    return argmax(lax.stop_gradient(data), 1).astype(data.dtype)


def _infer_cumsum_type(t: TypeFacts, p: Params) -> None:
    if p.dtype is None and t["a"] == "bool":
        t.set("out0", "int64")
    else:
        dtype_or_same("dtype")(t, p)


@register("_np_cumsum", "cumsum", infer_type=_infer_cumsum_type)
def cumsum(
    a: Array,
    *,
    axis: int | None = None,
    dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
):
    """Computes running sums along ``axis``: out[i] = a[0] + ... + a[i].

    a has any shape, the result the same; with axis None a is flattened first, which gives (number
    of elements,). Elements are converted to ``dtype``, if it is given, before they are added;
    booleans are added as int64.
    """
    x = a.reshape(-1) if axis is None else a
    kind = dtype or ("int64" if a.dtype == bool else a.dtype.name)
    return lax.cumsum(convert(x, kind), normal_axis(axis or 0, x.ndim))


def _even_bins(data: Array, count: int, low: float, high: float) -> tuple[Array, Array, Array]:
    # The bin follows from the element's distance to ``low``, corrected by one where the edges,
    # which are rounded to data's dtype, disagree.
    number = np.arange(count + 1)
    edges = convert(jnp.asarray((high * number + low * number[::-1]) / count), data.dtype.name)
    exact = data.astype("float64")
    bin_index = jnp.floor((exact - low) * count / (high - low)).astype("int32")
    bin_index = jnp.clip(bin_index, 0, count - 1)
    above = (data >= edges[bin_index + 1]) & (bin_index < count - 1)
    bin_index = jnp.where(
        data < edges[bin_index], bin_index - 1, jnp.where(above, bin_index + 1, bin_index)
    )
    return jnp.maximum(bin_index, 0), (exact >= low) & (exact <= high), edges


@register(
    "_histogram",
    inputs=lambda p: ("data", "bins") if p.bin_cnt is None else ("data",),
    outputs=("output0", "output1"),
    infer_type=same_dtype_among(out0="int64"),
)
def histogram(
    data: Array,
    bins: Array | None = None,
    *,
    bin_cnt: int | None = None,
    range: Floats | None = None,
):
    """Counts the elements of data in each bin; returns the counts and the edges of the bins.

    data has any shape. Bins are given by their edges (count + 1,), which increase, or by
    ``bin_cnt`` and ``range``, (low, high), which are divided evenly. A bin contains its lower edge;
    the last one contains its upper edge too. Elements outside are not counted. Returns int64
    (count,) and the edges (count + 1,) in data's dtype. Gradients are zero.
    """
    data = lax.stop_gradient(data).reshape(-1)
    if bins is None:
        if range is None or len(range) != 2 or not range[0] < range[1] or not bin_cnt:
            problem = f"bin_cnt={bin_cnt} and range={range}, expected a count and (low, high)"
            raise AttributeValueError(problem)
        bin_index, inside, edges = _even_bins(data, bin_cnt, *range)
    else:
        edges = lax.stop_gradient(bins)
        bin_index = jnp.searchsorted(edges, data, side="right").astype("int32") - 1
        bin_index = jnp.where(data == edges[-1], edges.shape[0] - 2, bin_index)
        inside = (data >= edges[0]) & (data <= edges[-1])
    count = edges.shape[0] - 1
    return jnp.zeros(count, "int64").at[bin_index].add(inside.astype("int64"), mode="drop"), edges


@register(
    "_contrib_allclose",
    infer_shape=same_shapes_among("a", "b"),
    infer_type=output_dtype("uint8", "a", "b"),
)
def allclose(a: Array, b: Array, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True):
    """Returns 1 if |a - b| <= atol + rtol |b| for all elements, else 0: uint8 of shape ().

    a and b have one shape and dtype. Infinities are close to themselves; so is NaN with
    ``equal_nan``. Gradients are zero.
    """
    a, b = lax.stop_gradient((a, b))
    return jnp.allclose(a, b, rtol, atol, equal_nan).astype("uint8")
