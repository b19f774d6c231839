"""Constant arrays, from attributes or from the shape of another array."""

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError
from ..schema.attrs import DType, Shape, Tuning
from ..schema.inference import Params, normal_axis, output_dtype, same_shapes
from ..schema.operator_registry import SHAPE_ATTRIBUTE, OpenShape, named, register
from .binary_arithmetic import convert, scalar_constant

_of_dtype = output_dtype("dtype")


def _constant_op(name: str, value: int) -> Callable[..., Array]:
    def op(*, shape: Shape = (), ctx: Tuning[str] = "", dtype: DType = "float32") -> Array:
        return jnp.full(shape, value, dtype)

    doc = (
        f"An array of ``shape`` and ``dtype`` filled with {value}.\n\n"
        "Sizes that are 0 or -1, or all of them for (), are taken from the operators that use it. "
        "``ctx`` is accepted and has no effect."
    )
    return named(op, name, doc)


register("_zeros", infer_type=_of_dtype, open_shape=SHAPE_ATTRIBUTE)(_constant_op("_zeros", 0))
register("_ones", infer_type=_of_dtype, open_shape=SHAPE_ATTRIBUTE)(_constant_op("_ones", 1))


@register("_full", infer_type=_of_dtype, open_shape=SHAPE_ATTRIBUTE)
def full(
    *, shape: Shape | None = None, ctx: Tuning[str] = "", dtype: DType = "float32", value: float
) -> Array:
    """Creates an array of ``shape`` and ``dtype`` filled with ``value``, converted to dtype.

    Sizes that are 0 or -1, or all of them for None, follow from the operators that use it. ``ctx``
    has no effect.
    """
    return jnp.full(shape or (), scalar_constant(value, jnp.dtype(dtype)), dtype)


@register("_eye", infer_type=_of_dtype)
def eye(
    *,
    N: int,  # noqa: N803
    M: int = 0,  # noqa: N803
    k: int = 0,
    ctx: Tuning[str] = "",
    dtype: DType = "float32",
) -> Array:
    """Creates a matrix (N, M) with ones on diagonal ``k`` (above the main one if positive).

    M=0 means M=N. ``ctx`` has no effect.
    """
    return jnp.eye(N, M or N, k, dtype=dtype)


def _repeated_iota(count: int, repeat: int, dtype: np.dtype) -> Array:
    index = lax.iota(jnp.int32, count * repeat)
    return (index // repeat).astype(dtype)


def _open_range(p: Params) -> Shape | None:
    return (0,) if p.infer_range and p.stop is None else None


def _closed_range(p: Params, shape: Shape) -> Params:
    # The attributes of a range of this length; its last steps are rounded away from a whole.
    count = math.ceil(shape[0] / p.repeat)
    return Params({**p, "stop": p.start + p.step * (count - 0.5), "infer_range": False})


@register("_arange", infer_type=_of_dtype, open_shape=OpenShape(_open_range, _closed_range))
def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: Tuning[str] = "",
    dtype: DType = "float32",
) -> Array:
    """Counts start, start + step, ... before stop, each ``repeat`` times; (count * repeat,).

    Computed in ``dtype``, to which start and step are converted first: a step of 1.5 is 1 for
    integers (in MXNet for float16 too). With stop None the numbers go from 0 to ``start``.
    With ``infer_range`` and stop None they begin at ``start``, and their number follows from the
    operators that use the array. ``ctx`` has no effect.
    """
    if infer_range and stop is None:
        problem = "no operator that uses it tells its length"
        raise AttributeValueError("_arange", problem, hint="give stop")
    if stop is None:
        start, stop = 0.0, start
    if step == 0 or repeat < 1 or (stop - start) / step <= 0:
        problem = f"start={start}, stop={stop}, step={step}, repeat={repeat} is empty"
        raise AttributeValueError("_arange", problem)
    kind = jnp.dtype(dtype)
    index = _repeated_iota(math.ceil((stop - start) / step), repeat, kind)
    return scalar_constant(start, kind) + index * scalar_constant(step, kind)


@register("_linspace", infer_type=_of_dtype)
def linspace(
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Tuning[str] = "",
    dtype: DType = "float32",
) -> Array:
    """Returns ``num`` equally spaced numbers from start to stop, of shape (num,).

    stop is the last one, or with ``endpoint=False`` the next one. They are computed in float64 and
    converted to ``dtype``. ``ctx`` has no effect.
    """
    gaps = max(num - 1 if endpoint else num, 1)
    index = _repeated_iota(num, 1, jnp.dtype("float64"))
    return convert(start + index * ((stop - start) / gaps), dtype)


@register("zeros_like", infer_shape=same_shapes)
def zeros_like(data: Array) -> Array:
    """Returns zeros in the shape and dtype of data, which gets zero gradient."""
    return jnp.zeros_like(data)


@register("ones_like", infer_shape=same_shapes)
def ones_like(data: Array) -> Array:
    """Returns ones in the shape and dtype of data, which gets zero gradient."""
    return jnp.ones_like(data)


@register("_contrib_arange_like")
def arange_like(
    data: Array,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Tuning[str] = "",
    axis: int | None = None,
) -> Array:
    """Counts start, start + step, ..., each ``repeat`` times, as many as data needs, in its dtype.

    With axis None the result has the shape of data, in row-major order; otherwise (size of that
    axis,). data gets zero gradient. ``ctx`` has no effect. For float16 start and step lose their
    fractions, as in MXNet.
    """
    if data.dtype == jnp.float16:
        start, step = math.trunc(start), math.trunc(step)
    shape = data.shape if axis is None else (data.shape[normal_axis(axis, data.ndim)],)
    index = lax.iota(jnp.int32, math.prod(shape)) // repeat
    kind = data.dtype
    values = scalar_constant(start, kind) + index.astype(kind) * scalar_constant(step, kind)
    return values.reshape(shape)


@register("shape_array", infer_type=output_dtype("int64"))
def shape_array(data: Array) -> Array:
    """Returns the shape of data as int64 of shape (number of axes,); data gets zero gradient."""
    return jnp.asarray(data.shape, jnp.int64)


@register(
    "size_array", infer_shape=lambda s, p: s.set("out0", (1,)), infer_type=output_dtype("int64")
)
def size_array(data: Array) -> Array:
    """Returns the number of elements of data as int64 of shape (1,); data gets zero gradient."""
    return jnp.asarray([data.size], jnp.int64)
