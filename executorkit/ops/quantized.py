"""Layers on bytes: convolution, pooling, sums, and what only moves them.

Every quantised input comes with the ends of the range that it covers, (1,) each, and so does every
output. A product of bytes is a 32-bit integer, whose range is what its largest integer stands for.
Nothing here has a gradient, as in MXNet.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from ..errors import AttributeValueError
from ._attrs import Aux, Shape, Tuning
from ._quantized import (
    INT32,
    exactly,
    largest,
    one,
    ranges_are_real,
    rounded,
    scale_of,
    scale_of_array,
    unsigned_unless_known,
)
from ._registry import Params, ShapeFacts, TypeFacts, register
from .batch_norm import batch_norm
from .conv import CudnnTune, Layout, convolution, convolution_fill, with_bias
from .dense import dense_fill, fully_connected
from .indexing import IndexedType, embedding, embedding_fill
from .pool import Layout as PoolLayout
from .pool import pooling
from .shape import flatten

OUTPUTS = ("output", "min_output", "max_output")


def _ends(s: ShapeFacts) -> None:
    for name in s:
        if "min" in name or "max" in name:
            s.set(name, (1,), because="it is one end of a range")


def _product_inputs(p: Params) -> tuple[str, ...]:
    names = ("data", "weight", *(() if p.no_bias else ("bias",)), "min_data", "max_data")
    names += ("min_weight", "max_weight")
    return names if p.no_bias else (*names, "min_bias", "max_bias")


def _product_types(t: TypeFacts, p: Params) -> None:
    t.set("weight", "int8")
    t.set("out0", "int32")
    ranges_are_real(t, 2 if p.no_bias else 3)


def _conv_types(t: TypeFacts, p: Params) -> None:
    t.set("bias", "int8")
    _product_types(t, p)


def _product_range(steps: float, *ranges: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What the smallest and the largest 32-bit product of bytes stand for."""
    a, b = largest(*ranges[:2]), largest(*ranges[2:])
    most = (a / steps) * (b / 127) * INT32
    return one(-most), one(most)


def _conv_fill(s: ShapeFacts, p: Params) -> None:
    convolution_fill(s, p)
    _ends(s)


@register(
    "_contrib_quantized_conv",
    inputs=_product_inputs,
    outputs=OUTPUTS,
    fill=_conv_fill,
    types=_conv_types,
)
def quantized_conv(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    min_data: Any = None,
    max_data: Any = None,
    min_weight: Any = None,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int,
    num_group: int = 1,
    workspace: Tuning[int] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tuning[CudnnTune | None] = None,
    cudnn_off: Tuning[bool] = False,
    layout: Layout | None = None,
):
    """Convolution of bytes, shapes as of Convolution; int32.

    data int8 or uint8, weight int8, bias int8 or absent with ``no_bias``; each with its range,
    (1,) each. The bias is added as it is, whatever its range, as in MXNet on CPU.
    """

    def product(data: jax.Array, weight: jax.Array) -> jax.Array:
        return convolution(
            data, weight, kernel=kernel, stride=stride, dilate=dilate, pad=pad,
            num_filter=num_filter, num_group=num_group, no_bias=True, layout=layout,
        )  # fmt: skip

    total = exactly(product, data, weight, weight.size // num_filter)
    total = with_bias(total, None if bias is None else bias.astype(jnp.int32), layout or "NCHW")
    return total, *_product_range(127, min_data, max_data, min_weight, max_weight)


def _dense_fill(s: ShapeFacts, p: Params) -> None:
    dense_fill(s, p)
    _ends(s)


@register(
    "_contrib_quantized_fully_connected",
    inputs=_product_inputs,
    outputs=OUTPUTS,
    fill=_dense_fill,
    types=_conv_types,
)
def quantized_fully_connected(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    min_data: Any = None,
    max_data: Any = None,
    min_weight: Any = None,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
):
    """Affine map of bytes, shapes as of FullyConnected; int32.

    data int8 or uint8, weight int8, bias int8 or absent with ``no_bias``; each with its range,
    (1,) each. The bias is brought to the scale of the products, rounded towards 0.
    """

    def product(data: jax.Array, weight: jax.Array) -> jax.Array:
        return fully_connected(data, weight, num_hidden=num_hidden, no_bias=True, flatten=flatten)

    total = exactly(product, data, weight, weight.shape[1])
    if bias is not None:
        scale = scale_of_array(data, min_data, max_data)
        scale *= scale_of("int8", min_weight, max_weight) / scale_of("int8", min_bias, max_bias)
        total += (bias.astype(jnp.float32) * scale).astype(jnp.int32)
    steps = 255 if data.dtype == jnp.uint8 else 127
    return total, *_product_range(steps, min_data, max_data, min_weight, max_weight)


def _kept_types(t: TypeFacts, p: Params) -> None:
    t.same("data", "out0")
    ranges_are_real(t)


def _kept_fill(s: ShapeFacts, p: Params) -> None:
    _ends(s)


@register("_contrib_quantized_pooling", outputs=OUTPUTS, fill=_kept_fill, types=_kept_types)
def quantized_pooling(
    data: jax.Array,
    min_data: jax.Array,
    max_data: jax.Array,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: Tuning[bool] = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: Literal[1, 2, 3] | None = None,
    count_include_pad: bool | None = None,
    layout: PoolLayout | None = None,
):
    """Pooling of bytes, shapes as of Pooling; means are rounded, halves to even.

    data int8 or uint8; its range, (1,) each, stays.
    """
    out = pooling(
        data.astype(jnp.float32), kernel=kernel, pool_type=pool_type, global_pool=global_pool,
        pooling_convention=pooling_convention, stride=stride, pad=pad, p_value=p_value,
        count_include_pad=count_include_pad, layout=layout,
    )  # fmt: skip
    return rounded(out, data.dtype.name), min_data, max_data


@register("_contrib_quantized_flatten", outputs=OUTPUTS, fill=_kept_fill, types=_kept_types)
def quantized_flatten(data: jax.Array, min_data: jax.Array, max_data: jax.Array):
    """Bytes (N, ...) as (N, K); the range, (1,) each, stays."""
    return flatten(data), min_data, max_data


@register("_contrib_quantized_act", outputs=OUTPUTS, fill=_kept_fill, types=_kept_types)
def quantized_act(
    data: jax.Array,
    min_data: jax.Array,
    max_data: jax.Array,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
):
    """Bytes (...), those below 0 as 0; the range, (1,) each, stays. Only ``relu`` is there."""
    if act_type != "relu":
        raise AttributeValueError(f"act_type={act_type!r}, expected 'relu'")
    return jnp.maximum(data, 0), min_data, max_data


def _concat_inputs(p: Params) -> tuple[str, ...]:
    names = tuple(f"arg{i}" for i in range(p.num_args))
    return (*names, *(f"{name}_{end}" for name in names for end in ("min", "max")))


def _concat_fill(s: ShapeFacts, p: Params) -> None:
    _ends(s)


def _concat_types(t: TypeFacts, p: Params) -> None:
    names = [f"arg{i}" for i in range(p.num_args)]
    ranges_are_real(t, p.num_args)
    unsigned_unless_known(t, *names)
    t.set("out0", "int8" if "int8" in (t[name] for name in names) else "uint8")


@register(
    "_contrib_quantized_concat",
    inputs=_concat_inputs,
    outputs=OUTPUTS,
    fill=_concat_fill,
    types=_concat_types,
)
def quantized_concat(*data: jax.Array, num_args: int, dim: int = 1):
    """Bytes side by side along axis ``dim``, brought to the widest of their ranges.

    The first ``num_args`` arrays are the data, int8 or uint8; then come their ranges, (1,) each,
    smallest before largest. uint8 if all are, else int8.
    """
    parts, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    low = jnp.min(jnp.stack(lows), axis=0)
    high = jnp.max(jnp.stack(highs), axis=0)
    dtype = "uint8" if all(part.dtype == jnp.uint8 for part in parts) else "int8"
    scale = scale_of(dtype, low, high)
    moved = [
        rounded(part.astype(jnp.float32) * (scale / scale_of_array(part, a, b)), dtype)
        for part, a, b in zip(parts, lows, highs, strict=True)
    ]
    return jnp.concatenate(moved, axis=dim), low, high


def _pair_fill(s: ShapeFacts, p: Params) -> None:
    s.same("lhs", "rhs", "out0")
    for name in ("lhs_min", "lhs_max", "rhs_min", "rhs_max"):
        s.set(name, (1,), because="it is one end of a range")


def _pair_types(t: TypeFacts, p: Params) -> None:
    ranges_are_real(t, 2)
    unsigned_unless_known(t, "lhs", "rhs")
    if p.get("enable_float_output"):
        t.set("out0", "float32")
    elif p.min_calib_range is None:
        t.set("out0", "int32")
    else:
        t.set("out0", "uint8" if t["lhs"] == t["rhs"] == "uint8" else "int8")


@register("_contrib_quantized_elemwise_add", outputs=OUTPUTS, fill=_pair_fill, types=_pair_types)
def quantized_elemwise_add(
    lhs: jax.Array,
    rhs: jax.Array,
    lhs_min: jax.Array,
    lhs_max: jax.Array,
    rhs_min: jax.Array,
    rhs_max: jax.Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """The sum of two arrays of bytes of one shape, each with its range, (1,) each.

    With a calibrated range, bytes over that: uint8 if both are, else int8. Without one, int32 over
    the sum of their ranges.
    """
    scales = scale_of_array(lhs, lhs_min, lhs_max), scale_of_array(rhs, rhs_min, rhs_max)

    def total(scale: jax.Array) -> jax.Array:
        return lhs.astype(jnp.float32) * (scale / scales[0]) + rhs * (scale / scales[1])

    if min_calib_range is None or max_calib_range is None:
        most = largest(lhs_min, lhs_max) + largest(rhs_min, rhs_max)
        return jnp.round(total(INT32 / most)).astype(jnp.int32), one(-most), one(most)
    low, high = one(min_calib_range), one(max_calib_range)
    dtype = "uint8" if lhs.dtype == rhs.dtype == jnp.uint8 else "int8"
    return rounded(total(scale_of(dtype, low, high)), dtype), low, high


def _mul_outputs(p: Params) -> tuple[str, ...]:
    return OUTPUTS[:1] if p.enable_float_output else OUTPUTS


@register(
    "_contrib_quantized_elemwise_mul", outputs=_mul_outputs, fill=_pair_fill, types=_pair_types
)
def quantized_elemwise_mul(
    lhs: jax.Array,
    rhs: jax.Array,
    lhs_min: jax.Array,
    lhs_max: jax.Array,
    rhs_min: jax.Array,
    rhs_max: jax.Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
):
    """The product of two int8 arrays of one shape, each with its range, (1,) each.

    float32 with ``enable_float_output``; with a calibrated range int8 over that, rounded towards
    0; otherwise int32.
    """
    total = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    scale = scale_of_array(lhs, lhs_min, lhs_max) * scale_of_array(rhs, rhs_min, rhs_max)
    if enable_float_output:
        return total / scale.astype(jnp.float32)
    if min_calib_range is None or max_calib_range is None:
        return total, *_product_range(127, lhs_min, lhs_max, rhs_min, rhs_max)
    low, high = one(min_calib_range), one(max_calib_range)
    steps = jnp.trunc(total * (scale_of("int8", low, high) / scale))
    return rounded(steps, "int8"), low, high


def _embedding_fill(s: ShapeFacts, p: Params) -> None:
    embedding_fill(s, p)
    _ends(s)


def _embedding_types(t: TypeFacts, p: Params) -> None:
    t.set("weight", "int8")
    t.set("out0", "int8")
    ranges_are_real(t, 2)


@register(
    "_contrib_quantized_embedding", outputs=OUTPUTS, fill=_embedding_fill, types=_embedding_types
)
def quantized_embedding(
    data: jax.Array,
    weight: jax.Array,
    min_weight: jax.Array,
    max_weight: jax.Array,
    *,
    input_dim: int,
    output_dim: int,
    dtype: IndexedType = "float32",
    sparse_grad: Tuning[bool] = False,
):
    """Rows of a table of bytes: data (...), indices; weight (input_dim, output_dim), int8.

    Returns (..., output_dim), int8; the weight's range, (1,) each, stays.
    """
    rows = embedding(data, weight, input_dim=input_dim, output_dim=output_dim, dtype=dtype)
    return rows, min_weight, max_weight


def _norm_fill(s: ShapeFacts, p: Params) -> None:
    channels = s["data"][p.axis] if s["data"] else 0
    for name in ("gamma", "beta", "moving_mean", "moving_var"):
        s.set(name, (channels,), because=f"data is {s['data']} and axis={p.axis}")
    for name in ("min_data", "max_data"):
        s.set(name, (1,), because="it is one end of a range")


@register("_contrib_quantized_batch_norm", outputs=OUTPUTS, fill=_norm_fill, types=_kept_types)
def quantized_batch_norm(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    moving_mean: Aux,
    moving_var: Aux,
    min_data: jax.Array,
    max_data: jax.Array,
    *,
    eps: float = 0.0010000000474974513,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: Tuning[bool] = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Batch normalisation of bytes with the moving statistics, over a calibrated range.

    data (N, C, ...), int8, with its range, (1,) each; gamma, beta and the auxiliary states
    moving_mean and moving_var (C,), float32. Returns int8 over the calibrated range, which has to
    be given. The states stay. ``fix_gamma`` has no effect, as in MXNet.
    """
    if min_calib_range is None or max_calib_range is None:
        raise AttributeValueError("min_calib_range and max_calib_range are not given")
    real = data.astype(jnp.float32) / scale_of_array(data, min_data, max_data)
    out, *_ = batch_norm(
        real, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum,
        fix_gamma=False, use_global_stats=True, axis=axis, train=False,
    )  # fmt: skip
    low, high = one(min_calib_range), one(max_calib_range)
    out = rounded(out * scale_of("int8", low, high), "int8")
    return out, low, high, moving_mean, moving_var
