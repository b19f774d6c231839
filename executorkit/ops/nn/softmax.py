"""Softmax and related functions; the loss heads with a softmax are in ``loss_heads``."""

from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ...errors import AttributeValueError, DTypeError, ShapeError
from ..schema.calls import same_signature
from ..schema.inference import Params, ShapeFacts, TypeFacts, inputs_with, normal_axis
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import NAMED_DATA
from ..tensor.binary_arithmetic import is_floating
from ..tensor.derivatives import with_jvp
from .moments import at_least_float32

OutType = Literal["float16", "float32", "float64"]


def _infer_shape(s: ShapeFacts, p: Params) -> None:
    s.same("data", "out0")
    data = s["data"]
    if data is None:
        return
    if not -len(data) <= p.axis < len(data):
        raise ShapeError(f"axis {p.axis} is out of range", because=f"data is {data}")
    axis = p.axis % len(data)
    if len(data) > 1 or s["length"] is None:  # one row may have its length as () or (1,)
        length = data[:axis] + data[axis + 1 :] or (1,)
        s.set("length", length, because=f"data is {data} and axis={p.axis}")


def _infer_shape_without_length(s: ShapeFacts, p: Params) -> None:
    if p.use_length:
        raise AttributeValueError("use_length=True, which only softmax takes")
    _infer_shape(s, p)


def _infer_type(t: TypeFacts, p: Params) -> None:
    if p.dtype is None:
        t.same("data", "out0")
    else:
        t.set("out0", p.dtype, because=f"dtype={p.dtype}")


def _wide(data: Array) -> Array:
    return at_least_float32(data) if is_floating(data) else data.astype("float32")


def _divided_by_temperature(data: Array, temperature: float | None) -> Array:
    return _wide(data) if temperature is None else _wide(data) / temperature


def _typed(out: Array, data: Array, dtype: OutType | None) -> Array:
    if dtype is None and not is_floating(data):
        raise DTypeError(f"data is {data.dtype.name}, expected floating numbers, or a dtype")
    return out.astype(dtype or data.dtype)


def _spread(per_row: Array, x: Array, axis: int) -> Array:
    return lax.broadcast_in_dim(per_row, x.shape, [a for a in range(x.ndim) if a != axis])


def _less_maximum(x: Array, axis: int) -> Array:
    return lax.sub(x, _spread(lax.reduce_max(lax.stop_gradient(x), (axis,)), x, axis))


def _softmax(x: Array, axis: int) -> Array:
    # Of primitives: each new shape is traced, and JAX's functions, jitted one by one, take five
    # times as long.
    axis = normal_axis(axis, x.ndim)

    def forward(x: Array) -> Array:
        e = lax.exp(_less_maximum(x, axis))
        return lax.div(e, _spread(lax.reduce_sum(e, (axis,)), e, axis))

    def tangent(t: Array, out: Array, _: Array) -> Array:
        return lax.mul(out, lax.sub(t, _spread(lax.reduce_sum(lax.mul(out, t), (axis,)), t, axis)))

    return with_jvp(forward, tangent)(x)


_RULES: Attrs = {
    "infer_type": _infer_type, "traits": {NAMED_DATA}, "kind": "act",
    "output_shapes": lambda p, shapes: shapes[:1],
}  # fmt: skip


@register(
    "softmax", **_RULES, inputs=inputs_with("data", length="use_length"), infer_shape=_infer_shape
)
def softmax(
    data: Array,
    length: Array | None = None,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: OutType | None = None,
    use_length: bool | None = False,
):
    """Computes exp(x / temperature) / sum exp(x / temperature) along ``axis``.

    data of any shape, floating; the result has its shape and, unless ``dtype`` says otherwise, its
    dtype. With ``use_length``, length (data's shape without ``axis``, integers) is the number of
    leading entries that take part; the others give 0.
    """
    x = _divided_by_temperature(data, temperature)
    if length is None:
        return _typed(_softmax(x, axis), data, dtype)
    length = jnp.expand_dims(length, axis) if x.ndim > 1 else length.reshape(1)
    inside = lax.broadcasted_iota("int32", x.shape, axis % x.ndim) < length
    # The lowest finite number, not -inf: a row of length 0 must not become NaN.
    out = _softmax(jnp.where(inside, x, jnp.finfo(x.dtype).min), axis)
    return _typed(jnp.where(inside, out, 0), data, dtype)


@register("log_softmax", **_RULES, infer_shape=_infer_shape_without_length)
def log_softmax(
    data: Array,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: OutType | None = None,
    use_length: bool | None = False,
):
    """Computes the logarithm of :func:`softmax` along ``axis``, without its rounding to 0.

    data of any shape, floating; the result has its shape and, unless ``dtype`` says otherwise, its
    dtype. ``use_length`` must be False.
    """
    axis = normal_axis(axis, data.ndim)
    x = _less_maximum(_divided_by_temperature(data, temperature), axis)
    out = lax.sub(x, _spread(lax.log(lax.reduce_sum(lax.exp(x), (axis,))), x, axis))
    return _typed(out, data, dtype)


@register("softmin", infer_shape=_infer_shape_without_length, infer_type=_infer_type)
@same_signature(log_softmax)
def softmin(data, *, axis, temperature, dtype, use_length):
    """Computes :func:`softmax` of -data along ``axis``.

    data of any shape, floating; the result has its shape and, unless ``dtype`` says otherwise, its
    dtype. ``use_length`` must be False.
    """
    return _typed(_softmax(-_divided_by_temperature(data, temperature), axis), data, dtype)


def _infer_softmax_activation_shape(s: ShapeFacts, p: Params) -> None:
    s.same()
    data = s["data"]
    if p.mode == "channel" and data is not None and len(data) < 3:
        raise ShapeError(f"'data' is {data}, expected at least 3 axes", "mode='channel'", "data")


@register(
    "SoftmaxActivation",
    infer_shape=_infer_softmax_activation_shape,
    kind="act",
    file_format=FileFormat(former_attrs={"type": "mode"}),
)
def softmax_activation(data: Array, *, mode: Literal["channel", "instance"] = "instance"):
    """Computes softmax along the last axis ("instance") or along axis 1 ("channel").

    data (N, C), or (N, C, ...) for "channel"; shape and dtype stay. For data of more than two axes,
    MXNet's gradient of "instance" assumes a softmax along axis 1; here it is the derivative.
    """
    return _softmax(_wide(data), -1 if mode == "instance" else 1).astype(data.dtype)
