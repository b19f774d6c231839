"""Quantised arrays pooled, flattened, activated, concatenated, added and multiplied.

Every quantised array comes with the ends of the range that it covers, (1,) each. A product of 8-bit
integers is an int32, with the range of the largest int32. Nothing here has a gradient, as in MXNet.
"""

import math
from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ...errors import AttributeValueError
from ..nn.pool import Layout as PoolLayout, pooling
from ..schema.attrs import Shape, Tuning
from ..schema.inference import Params, TypeFacts, same_shapes_among
from ..schema.operator_registry import register
from ..tensor.shape import flatten
from . import int8_arithmetic as int8

_SAME_RANGE: Attrs = {
    "outputs": int8.OUTPUTS,
    "infer_shape": int8.infer_range_end_shape,
    "infer_type": int8.infer_same_range_type,
}


@register("_contrib_quantized_pooling", **_SAME_RANGE)
def quantized_pooling(
    data: Array,
    min_data: Array,
    max_data: Array,
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
    """Pools bytes, shapes as of Pooling; means are rounded, halves to even.

    data int8 or uint8; its range, (1,) each, stays. As in MXNet, positions that "full" adds beyond
    the padding count in means of bytes, unless ``count_include_pad=False``.
    """
    whole_windows = (
        pool_type == "avg"
        and pooling_convention == "full"
        and not global_pool
        and count_include_pad is not False
    )
    out = pooling(
        data.astype(jnp.float32), kernel=kernel, pool_type="sum" if whole_windows else pool_type,
        global_pool=global_pool, pooling_convention=pooling_convention, stride=stride, pad=pad,
        p_value=p_value, count_include_pad=count_include_pad, layout=layout,
    )  # fmt: skip
    if whole_windows:
        out = out / math.prod(kernel)
    return int8.round_to_dtype(out, data.dtype.name), min_data, max_data


@register("_contrib_quantized_flatten", **_SAME_RANGE)
def quantized_flatten(data: Array, min_data: Array, max_data: Array):
    """Reshapes bytes (N, ...) to (N, K); the range, (1,) each, stays."""
    return flatten(data), min_data, max_data


def _infer_act_type(t: TypeFacts, p: Params) -> None:
    t.set("data", t["data"] or "int8")
    t.set("out0", "int8")
    int8.set_real_ranges(t)


@register(
    "_contrib_quantized_act",
    outputs=int8.OUTPUTS,
    infer_shape=int8.infer_range_end_shape,
    infer_type=_infer_act_type,
)
def quantized_act(
    data: Array,
    min_data: Array,
    max_data: Array,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
):
    """Sets bytes (...) below 0 to 0 (``relu``, the only activation); the range, (1,) each, stays.

    Returns int8. The bits of uint8 stay and are read as int8, as in MXNet.
    """
    if act_type != "relu":
        raise AttributeValueError(f"act_type={act_type!r}, expected 'relu'")
    return lax.bitcast_convert_type(jnp.maximum(data, 0), jnp.int8), min_data, max_data


def _concat_inputs(p: Params) -> tuple[str, ...]:
    names = tuple(f"arg{i}" for i in range(p.num_args))
    return (*names, *(f"{name}_{end}" for name in names for end in ("min", "max")))


def _infer_concat_type(t: TypeFacts, p: Params) -> None:
    names = [f"arg{i}" for i in range(p.num_args)]
    int8.set_real_ranges(t, p.num_args)
    int8.default_to_unsigned(t, *names)
    t.set("out0", "int8" if "int8" in (t[name] for name in names) else "uint8")


@register(
    "_contrib_quantized_concat",
    inputs=_concat_inputs,
    outputs=int8.OUTPUTS,
    infer_shape=int8.infer_range_end_shape,
    infer_type=_infer_concat_type,
)
def quantized_concat(*data: Array, num_args: int, dim: int = 1):
    """Concatenates bytes along axis ``dim``, brought to the widest of their ranges.

    The first ``num_args`` arrays are the data, int8 or uint8; then come their ranges, (1,) each,
    smallest before largest. uint8 if all are, else int8.
    """
    parts, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    low = jnp.min(jnp.stack(lows), axis=0)
    high = jnp.max(jnp.stack(highs), axis=0)
    dtype = "uint8" if all(part.dtype == jnp.uint8 for part in parts) else "int8"
    scale = int8.scale_of(dtype, low, high)
    moved = [
        int8.round_to_dtype(
            part.astype(jnp.float32) * (scale / int8.scale_of_array(part, a, b)), dtype
        )
        for part, a, b in zip(parts, lows, highs, strict=True)
    ]
    return jnp.concatenate(moved, axis=dim), low, high


def _infer_pair_type(t: TypeFacts, p: Params) -> None:
    int8.set_real_ranges(t, 2)
    int8.default_to_unsigned(t, "lhs", "rhs")
    if p.get("enable_float_output"):
        t.set("out0", "float32")
    elif p.min_calib_range is None:
        t.set("out0", "int32")
    else:
        t.set("out0", "uint8" if t["lhs"] == t["rhs"] == "uint8" else "int8")


_PAIR: Attrs = {
    "infer_shape": int8.with_range_ends(same_shapes_among("lhs", "rhs", "out0")),
    "infer_type": _infer_pair_type,
}


@register("_contrib_quantized_elemwise_add", **_PAIR, outputs=int8.OUTPUTS)
def quantized_elemwise_add(
    lhs: Array,
    rhs: Array,
    lhs_min: Array,
    lhs_max: Array,
    rhs_min: Array,
    rhs_max: Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Adds two arrays of bytes of one shape, each with its range, (1,) each.

    With a calibrated range, bytes over it: uint8 if both are, else int8. Without one, int32 over
    the sum of their ranges. Of one uint8 and one int8 array, MXNet first brings the former to
    int8 in steps of the result; without a calibrated range that saturates nearly all of it.
    """
    mixed = lhs.dtype != rhs.dtype
    addends = [(lhs, int8.scale_of_array(lhs, lhs_min, lhs_max))]
    addends += [(rhs, int8.scale_of_array(rhs, rhs_min, rhs_max))]

    def total(scale: Array) -> Array:
        parts = [x.astype(jnp.float32) * (scale / steps) for x, steps in addends]
        if mixed:
            unsigned = 0 if lhs.dtype == jnp.uint8 else 1
            parts[unsigned] = int8.round_to_dtype(parts[unsigned], "int8").astype(jnp.float32)
        return parts[0] + parts[1]

    if min_calib_range is None or max_calib_range is None:
        magnitude = int8.max_magnitude(lhs_min, lhs_max) + int8.max_magnitude(rhs_min, rhs_max)
        return (
            jnp.round(total(int8.INT32 / magnitude)).astype(jnp.int32),
            int8.range_end(-magnitude),
            int8.range_end(magnitude),
        )
    low, high = int8.range_end(min_calib_range), int8.range_end(max_calib_range)
    dtype = "uint8" if lhs.dtype == rhs.dtype == jnp.uint8 else "int8"
    return int8.round_to_dtype(total(int8.scale_of(dtype, low, high)), dtype), low, high


@register(
    "_contrib_quantized_elemwise_mul",
    **_PAIR,
    outputs=lambda p: int8.OUTPUTS[:1] if p.enable_float_output else int8.OUTPUTS,
)
def quantized_elemwise_mul(
    lhs: Array,
    rhs: Array,
    lhs_min: Array,
    lhs_max: Array,
    rhs_min: Array,
    rhs_max: Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
):
    """Multiplies two int8 arrays of one shape, each with its range, (1,) each.

    float32 with ``enable_float_output``; int8, rounded towards 0, with a calibrated range;
    otherwise int32.
    """
    total = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    scale = int8.scale_of_array(lhs, lhs_min, lhs_max) * int8.scale_of_array(rhs, rhs_min, rhs_max)
    if enable_float_output:
        return total / scale.astype(jnp.float32)
    if min_calib_range is None or max_calib_range is None:
        return total, *int8.product_range(127, lhs_min, lhs_max, rhs_min, rhs_max)
    low, high = int8.range_end(min_calib_range), int8.range_end(max_calib_range)
    steps = jnp.trunc(total * (int8.scale_of("int8", low, high) / scale))
    return int8.round_to_dtype(steps, "int8"), low, high
