"""Attention that MXNet's optimiser for x86 fused, in float32 or on 8-bit integers."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array

from ..._support.annotations import Attrs
from ..nn.attention import interleaved_matmul_selfatt_qk, interleaved_matmul_selfatt_valatt
from ..schema.attrs import Bodies
from ..schema.inference import Params, TypeFacts
from ..schema.operator_registry import register
from . import int8_arithmetic as int8


def _input_names(*arrays: str) -> Callable[[Params], tuple[str, ...]]:
    def names(p: Params) -> tuple[str, ...]:
        short = ("qkv", "attention")[: len(arrays)]
        ends = tuple(f"{end}_{x}" for x in short for end in ("min", "max"))
        return (*arrays, *ends) if p.quantized else arrays

    return names


def _infer_attention_type(t: TypeFacts, p: Params) -> None:
    if not p.quantized:
        t.same()
        return
    int8.set_real_ranges(t, 2 if "attention" in t else 1)
    t.set("queries_keys_values", "int8")
    t.set("attention", t["attention"] or "uint8")
    real, byte_dtype = p.enable_float_output, "int8" if int8.is_calibrated(p) else "int32"
    t.set("out0", "float32" if real else byte_dtype)


def _attention(
    attend: Callable[..., Array], p: Params, *arrays: Array
) -> Array | tuple[Array, ...]:
    if not p.quantized:
        return attend(*arrays, heads=p.heads)
    count = len(arrays) // 3
    of_bytes = arrays[:count]
    ends = [arrays[count + 2 * i : count + 2 * i + 2] for i in range(count)]
    if count == 1:  # queries times keys: both are of the same array
        of_bytes, ends = of_bytes * 2, ends * 2
    scale = int8.scale_of_array(of_bytes[0], *ends[0]) * int8.scale_of_array(of_bytes[1], *ends[1])
    total = attend(*(x.astype(jnp.float32) for x in of_bytes[:count]), heads=p.heads)
    if p.enable_float_output:
        return total / scale
    if int8.is_calibrated(p):
        low, high = int8.range_end(p.min_calib_range), int8.range_end(p.max_calib_range)
        steps = total / scale * int8.scale_of("int8", low, high)
        return int8.round_to_dtype(steps, "int8"), low, high
    last = int(int8.STEPS[of_bytes[1].dtype.name])
    if count == 1:
        magnitude = int8.max_magnitude(*ends[0])
        ends = [(-magnitude, magnitude), (-magnitude, magnitude)]
    return jnp.round(total).astype(jnp.int32), *int8.product_range(last, *ends[1], *ends[0])


_RULES: Attrs = {
    "outputs": lambda p: (
        int8.OUTPUTS if p.quantized and not p.enable_float_output else int8.OUTPUTS[:1]
    ),
    "infer_shape": int8.infer_range_end_shape,
    "infer_type": _infer_attention_type,
}


@register("_sg_mkldnn_selfatt_qk", **_RULES, inputs=_input_names("queries_keys_values"))
def sg_mkldnn_selfatt_qk(
    queries_keys_values: Array,
    min_qkv: Any = None,
    max_qkv: Any = None,
    *,
    heads: int,
    quantized: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    bodies: Bodies = None,
):
    """Computes attention scores of every position with every other: q k^T / sqrt(size) per head.

    queries_keys_values (length, batch, heads * 3 * size): for each head, query, key and value side
    by side. Returns (batch * heads, length, length). With ``quantized`` the array is int8, followed
    by the two ends of its range, (1,) each. Then the result is float32 with
    ``enable_float_output``; int8 over the calibrated range, if there is one; otherwise int32. The
    ends of its range are the second and third output (MXNet gives 0 for int32).
    """
    p = Params(locals())
    ends = (min_qkv, max_qkv) if quantized else ()
    return _attention(interleaved_matmul_selfatt_qk, p, queries_keys_values, *ends)


@register(
    "_sg_mkldnn_selfatt_valatt", **_RULES, inputs=_input_names("queries_keys_values", "attention")
)
def sg_mkldnn_selfatt_valatt(
    queries_keys_values: Array,
    attention: Array,
    min_qkv: Any = None,
    max_qkv: Any = None,
    min_attention: Any = None,
    max_attention: Any = None,
    *,
    heads: int,
    quantized: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    bodies: Bodies = None,
):
    """Sums the values weighted by attention, head by head.

    queries_keys_values (length, batch, heads * 3 * size), of which only values are used; attention
    (batch * heads, length, length). Returns (length, batch, heads * size). ``quantized`` is as for
    ``_sg_mkldnn_selfatt_qk``; attention is then uint8 or int8.
    """
    p = Params(locals())
    ends = (min_qkv, max_qkv, min_attention, max_attention)
    arrays = (queries_keys_values, attention, *(ends if quantized else ()))
    return _attention(interleaved_matmul_selfatt_valatt, p, *arrays)
