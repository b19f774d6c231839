"""Functions along axes: sums, extremes, statistics, differences. Over all they give scalars."""

from collections.abc import Callable
from typing import Any, Literal

import jax.numpy as jnp
from jax import Array, lax

from ...errors import DTypeError, ShapeError
from ..schema.attrs import Shape
from ..schema.inference import dtype_of_first_input, normal_axes, normal_axis, output_dtype
from ..schema.operator_registry import NUMPY_OPS, named
from ..tensor.binary_arithmetic import convert, is_floating
from ..tensor.ordering import argmax as first_maximum, argmin as first_minimum
from ..tensor.reduce import REDUCTIONS, root_of_squares
from .promotion import (
    attribute_or,
    averaged_type,
    first_type,
    numpy_operator,
    outputs_typed,
    reduced_type,
    typed,
)

SumType = Literal["bool", "float16", "float32", "float64", "int32", "int64", "int8"] | None


def _axes(axis: Shape | None, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else normal_axes(axis, ndim, "axis")


def _without(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    return x if keepdims else lax.squeeze(x, axes)


_COMBINED = {"sum": jnp.add, "prod": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum}
_WORDS = {"sum": "Sums", "prod": "Multiplies", "mean": "Averages", "max": "Finds the maximum of",
          "min": "Finds the minimum of"}  # fmt: skip


def _reduced(name: str, a: Array, axis: Shape | None, keepdims: bool, initial: Any) -> Array:
    axes = _axes(axis, a.ndim)
    if name in ("max", "min") and initial is None and any(a.shape[i] == 0 for i in axes):
        raise ShapeError(f"a is {a.shape}: an empty axis has no {name}imum")
    if name == "mean" and 0 in a.shape:  # as in MXNet, 0
        name = "sum"
    result = REDUCTIONS[name][1](a, axes)
    if initial is not None:
        result = _COMBINED[name](result, jnp.asarray(initial, a.dtype))
    return _without(result, axes, keepdims)


def _extreme(name: str) -> Callable[..., Array]:
    def op(
        a: Array, *, axis: Shape | None = None, keepdims: bool = False,
        initial: float | None = None,
    ) -> Array:  # fmt: skip
        return _reduced(name, a, axis, keepdims, initial)

    doc = (
        f"{_WORDS[name]} the elements of a, of any shape, over ``axis`` (None: over all). Every "
        "element that equals the result gets the whole head gradient."
    )
    return named(op, f"_np_{name}", doc)


def _sum(name: str, result: Callable[..., str]) -> Callable[..., Array]:
    def op(
        a: Array, *, axis: Shape | None = None, dtype: SumType = None, keepdims: bool = False,
        initial: float | None = None,
    ) -> Array:  # fmt: skip
        to = dtype or result(a.dtype.name)
        if is_floating(a) and not jnp.issubdtype(to, jnp.floating):  # fractions count, as in MXNet
            return convert(_reduced(name, a, axis, keepdims, initial), to)
        return _reduced(name, convert(a, to), axis, keepdims, initial)

    doc = (
        f"{_WORDS[name]} the elements of a, of any shape, over ``axis`` (None: over all), after a "
        "conversion to ``dtype`` (before one of fractions to integers). By default the type stays, "
        "except that bool becomes int64 (integers become float32 in a mean)."
    )
    return named(op, f"_np{'i' if name == 'mean' else ''}_{name}", doc)


for _name in ("max", "min"):
    numpy_operator(f"_np_{_name}")(_extreme(_name))
    NUMPY_OPS[f"_np_a{_name}"] = NUMPY_OPS[f"_np_{_name}"]
for _name, _result in (("sum", reduced_type), ("prod", reduced_type), ("mean", averaged_type)):
    _op = _sum(_name, _result)
    numpy_operator(_op.__name__, infer_type=attribute_or(_result))(_op)
NUMPY_OPS["_np_product"] = NUMPY_OPS["_np_prod"]


def _any_or_all(name: str, fn: Callable[..., Array]) -> Callable[..., Array]:
    def op(data: Array, *, axis: Shape | None = None, keepdims: bool = False) -> Array:
        return fn(data != 0, _axes(axis, data.ndim), keepdims=keepdims)

    doc = f"Returns whether {name} elements of data, of any shape, are not 0, over ``axis``: bool."
    return named(op, f"_np_{name}", doc)


for _name, _fn in (("any", jnp.any), ("all", jnp.all)):
    numpy_operator(f"_np_{_name}", infer_type=output_dtype("bool"))(_any_or_all(_name, _fn))
NUMPY_OPS["_np_sometrue"] = NUMPY_OPS["_np_any"]


def _variance(a: Array, axis: Shape | None, dtype: Any, ddof: int, keepdims: bool) -> Array:
    # As in MXNet, no gradient flows through it.
    wide = lax.stop_gradient(a if is_floating(a) else a.astype("float32"))
    return jnp.var(wide, _axes(axis, a.ndim), ddof=ddof, keepdims=keepdims)


@numpy_operator("_npi_var", infer_type=attribute_or(first_type))
def var(
    a: Array, *, axis: Shape | None = None, dtype: SumType = None, ddof: int = 0,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Computes the variance of a, of any shape, over ``axis``: the sum of squared distances from
    the mean over (number - ddof). As in MXNet, the gradient is zero."""
    return convert(_variance(a, axis, dtype, ddof, keepdims), dtype or a.dtype.name)


@numpy_operator("_npi_std", infer_type=attribute_or(first_type))
def std(
    a: Array, *, axis: Shape | None = None, dtype: SumType = None, ddof: int = 0,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Computes the standard deviation of a, of any shape, over ``axis``: the root of the sum of
    squared distances from the mean over (number - ddof). As in MXNet, the gradient is zero."""
    return convert(jnp.sqrt(_variance(a, axis, dtype, ddof, keepdims)), dtype or a.dtype.name)


@numpy_operator(
    "_npi_average",
    inputs=lambda p: ("a", "weights") if p.weighted else ("a",),
    outputs=("output0", "output1"),
    visible=lambda p: 2 if p.returned else 1,
)
def average(
    a: Array, weights: Array | None = None, *, axis: Shape | None = None, returned: bool = False,
    weighted: bool = True,
):  # fmt: skip
    """Averages a, of any shape, over ``axis`` with ``weights`` of its shape, or (n,) along one
    axis; returns the sum of the weights too, which is one number if they are not of a's shape."""
    axes = _axes(axis, a.ndim)
    if weights is None:
        count = REDUCTIONS["sum"][1](jnp.ones_like(a), axes)
        mean, total = REDUCTIONS["sum"][1](a, axes) / count, count.max(initial=0)
    elif weights.shape == a.shape:
        total = REDUCTIONS["sum"][1](weights, axes)
        mean, total = REDUCTIONS["sum"][1](a * weights, axes) / total, _without(total, axes, False)
    elif len(axes) != 1 or weights.shape != (a.shape[axes[0]],):
        raise ShapeError(f"'weights' is {weights.shape}, expected {a.shape}, or (n,) on an axis")
    else:
        around = [1] * a.ndim
        around[axes[0]] = weights.size
        total = weights.sum()
        mean = REDUCTIONS["sum"][1](a * weights.reshape(around), axes) / total
    return _without(mean.astype(a.dtype), axes, False), total.astype(a.dtype)


def _position(name: str, locate: Callable[..., Array]) -> Callable[..., Array]:
    def op(data: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
        axis = axis if data.ndim or axis not in (0, -1) else None
        x = data.reshape(-1) if axis is None else data
        index = locate(x, normal_axis(axis or 0, x.ndim)).astype("int64")
        if not keepdims:
            return index
        return index.reshape((1,) * data.ndim) if axis is None else jnp.expand_dims(index, axis)

    doc = (
        f"Returns the index of the first {name} of data, of any shape, along ``axis`` (None: among "
        "all elements): int64."
    )
    return named(op, f"_npi_arg{name[:3]}", doc)


for _name, _locate in (("maximum", first_maximum), ("minimum", first_minimum)):
    _op = _position(_name, _locate)
    numpy_operator(_op.__name__, infer_type=output_dtype("int64"))(_op)


@numpy_operator("_npi_diff")
def diff(a: Array, *, n: int = 1, axis: int = -1) -> Array:
    """Subtracts neighbours along ``axis`` of a, of any shape, ``n`` times."""
    return jnp.diff(a, n, axis)


@numpy_operator(
    "_npi_ediff1d",
    inputs=lambda p: (
        "input1",
        *(["input2"] if p.to_begin_arr_given else []),
        *(["input3"] if p.to_end_arr_given else []),
    ),
)
def ediff1d(
    input1: Array, input2: Array | None = None, input3: Array | None = None, *,
    to_begin_arr_given: bool = False, to_end_arr_given: bool = False,
    to_begin_scalar: float | None = None, to_end_scalar: float | None = None,
) -> Array:  # fmt: skip
    """Subtracts neighbours among the elements of input1, of any shape; input2 and input3, or
    numbers, come before and after."""

    def ends(array: Array | None, number: float | None) -> list[Array]:
        if array is not None:
            return [array.reshape(-1)]
        return [] if number is None else [jnp.full(1, number, input1.dtype)]

    first, last = ends(input2, to_begin_scalar), ends(input3, to_end_scalar)
    return jnp.concatenate([*first, jnp.diff(input1.reshape(-1)), *last])


def _percentile_type(dtype: str, *_: str) -> str:
    return "float64" if dtype == "float64" else "float32"


@numpy_operator(
    "_npi_percentile",
    inputs=lambda p: ("a", "q") if p.q_scalar is None else ("a",),
    infer_type=typed(_percentile_type),
)
def percentile(
    a: Array, q: Array | None = None, *, axis: Shape | None = None,
    interpolation: Literal["higher", "linear", "lower", "midpoint", "nearest"] = "linear",
    keepdims: bool = False, q_scalar: float | None = None,
) -> Array:  # fmt: skip
    """Computes the percentiles ``q`` of a, of any shape, over ``axis``: (*q.shape, remaining axes).
    The gradient is zero."""
    dtype = _percentile_type(a.dtype.name)
    at = jnp.asarray(q_scalar if q is None else q, "float64")
    data = lax.stop_gradient(a).astype(dtype)
    axes = _axes(axis, a.ndim)
    return jnp.percentile(data, at, axes, method=interpolation, keepdims=keepdims).astype(dtype)


@numpy_operator("_npi_norm", infer_type=dtype_of_first_input)
def norm(
    data: Array, *, ord: float = 2.0, axis: Shape | None = None, keepdims: bool = False,
    flag: int = -1,
) -> Array:  # fmt: skip
    """Computes a norm of vectors or matrices in data, of any shape, over ``axis``, as
    ``numpy.linalg.norm``. ``flag``: -2 is the root of the sum of squares of all, 1 a vector norm
    ``ord``, 2 a matrix norm, 0 Frobenius's, 3 the nuclear one."""
    wide = data.astype(jnp.promote_types(data.dtype, "float32"))
    axes: Any = _axes(axis, data.ndim)
    if flag == 3:
        result = jnp.linalg.norm(wide, "nuc", axes, keepdims)
        return convert(result, data.dtype.name)
    if flag in (-2, 0) or (len(axes) == 1 and ord == 2):
        root = root_of_squares(wide, axes, _root)
        return convert(_without(root, axes, keepdims), data.dtype.name)
    result = jnp.linalg.norm(wide, ord, axes if len(axes) > 1 else axes[0], keepdims)
    return convert(result, data.dtype.name)


def _root(x: Array) -> Array:
    # As in MXNet, the gradient at 0 is 0.
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0)


@numpy_operator(
    "_npi_bincount",
    inputs=lambda p: ("data", "weights") if p.has_weights else ("data",),
    traits={"needs_values"},
    infer_type=outputs_typed(out0=None),
)
def bincount(
    data: Array, weights: Array | None = None, *, minlength: int = 0, has_weights: bool = False
) -> Array:
    """Counts each number in data (n,) of integers, or sums its ``weights`` (n,)."""
    if is_floating(data):
        raise DTypeError(f"'data' is {data.dtype.name}, expected integers")
    largest = int(data.max()) if data.size else -1
    length = max(minlength, largest + 1)
    if weights is None:
        return jnp.bincount(data, length=length).astype(data.dtype)
    return jnp.bincount(data, weights, length=length).astype(weights.dtype)


@numpy_operator("_npi_polyval", infer_type=typed(first_type))
def polyval(p: Array, x: Array) -> Array:
    """Evaluates the polynomial of the coefficients p (n,), the highest power first, at x, of any
    shape."""
    return jnp.polyval(p, x)
