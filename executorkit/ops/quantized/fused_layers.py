"""Convolutions and affine maps that MXNet's optimiser for x86 fused with the operators behind them.

Files of quantised networks hold such nodes, each with a subgraph. The inputs are those of the
subgraph, then, where the node is quantised, the two ends of the range of each 8-bit input. A
product of quantised arrays is computed after batch normalisation has been folded into its weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ...errors import MXNetError, explain
from ..schema.attrs import Bodies
from ..schema.inference import Params, ShapeFacts, TypeFacts
from ..schema.operator_registry import OpDef, register
from ..schema.subgraph_bodies import infer_shapes_from_subgraph
from .int8_arithmetic import (
    STEPS,
    product_range,
    range_end,
    round_to_dtype,
    scale_of,
    scale_of_array,
)

#: Operators whose results are never below 0, so that they are stored as uint8.
_POSITIVE = {"relu", "sigmoid", "exp", "abs", "square", "sqrt"}
_POSITIVE_ACTIVATIONS = {"relu", "sigmoid", "softrelu"}
_PRODUCTS = {"Convolution", "FullyConnected"}


@dataclass(frozen=True, slots=True)
class QuantizedArray:
    """A quantised array with the ends of its range."""

    array: jax.Array
    low: jax.Array
    high: jax.Array

    @property
    def scale(self) -> jax.Array:
        return scale_of_array(self.array, self.low, self.high)

    def real(self) -> jax.Array:
        return self.array.astype(jnp.float32) / self.scale


@dataclass(frozen=True, slots=True)
class QuantizedProduct:
    """A convolution or affine map of quantised data, not yet computed: its weight may change."""

    op: OpDef
    params: Params
    data: QuantizedArray
    weight: jax.Array | QuantizedArray
    bias: jax.Array | None
    per_tensor: bool = False

    def normalised(self, p: Params, gamma, beta, mean, var) -> QuantizedProduct:
        """The product followed by batch normalisation with fixed statistics."""
        assert not isinstance(self.weight, QuantizedArray)
        # The largest weight lies at 127.5 steps, so the last bit decides whether it is rounded up.
        # The barrier preserves MXNet's division by a root, correctly rounded on every CPU, where
        # XLA would multiply with an approximate reciprocal root.
        deviation = lax.optimization_barrier(jnp.sqrt(var + p.eps))
        factor = (1.0 if p.fix_gamma else gamma) / deviation
        weight = self.weight * _per_filter(factor, self.weight.ndim, 0)
        bias = beta - mean * factor + (0.0 if self.bias is None else self.bias * factor)
        return replace(self, weight=weight, bias=bias)

    def quantised_weight(self) -> tuple[jax.Array, jax.Array]:
        """The weight as int8, and its scale or, for a floating weight, the scale of each filter.

        With ``per_tensor`` all filters have one scale, (1,), as in MXNet without calibration.
        Otherwise, as in MXNet, the filters of the k-th group are quantised with the scale of the
        k-th filter.
        """
        if isinstance(self.weight, QuantizedArray):
            return self.weight.array, self.weight.scale
        if self.per_tensor:
            scale = scale_of("int8", *self.weight_range())
            return round_to_dtype(self.weight * scale, "int8"), range_end(scale)
        axes = tuple(range(1, self.weight.ndim))
        magnitudes = jnp.max(jnp.abs(self.weight), axis=axes)
        scale = scale_of("int8", range_end(0.0), range_end(1.0)) / jnp.where(
            magnitudes > 0, magnitudes, 1
        )
        groups = self.params.get("num_group", 1)
        group_scale = jnp.repeat(scale[:groups], len(scale) // groups) if groups > 1 else scale
        return round_to_dtype(
            self.weight * _per_filter(group_scale, self.weight.ndim, 0), "int8"
        ), scale

    def weight_range(self) -> tuple[jax.Array, jax.Array]:
        """The ends of the weight's range, (1,) each."""
        if isinstance(self.weight, QuantizedArray):
            return self.weight.low, self.weight.high
        magnitude = range_end(jnp.max(jnp.abs(self.weight)))
        return -magnitude, magnitude

    def steps(self, real: jax.Array) -> tuple[jax.Array, ...]:
        """Floating numbers as int32 in units of the products, and the range of int32."""
        scale = self.data.scale * self.quantised_weight()[1].reshape(())
        last = int(STEPS[self.data.array.dtype.name])
        ends = product_range(last, self.data.low, self.data.high, *self.weight_range())
        return jnp.round(real.astype(jnp.float64) * scale).astype(jnp.int32), *ends

    def real(self) -> jax.Array:
        """The product as floating numbers."""
        weight, scale = self.quantised_weight()
        weight, data = weight.astype(jnp.float32), self.data.array.astype(jnp.float32)
        p = Params({**self.params, "no_bias": True})
        (total,) = self.op.apply(p, (data, weight))
        scale = jnp.broadcast_to(scale * self.data.scale, weight.shape[:1])
        axis = 1 if self.op.name == "Convolution" else total.ndim - 1
        total = total / _per_filter(scale, total.ndim, axis)
        return total if self.bias is None else total + _per_filter(self.bias, total.ndim, axis)


def _per_filter(x: jax.Array, ndim: int, axis: int) -> jax.Array:
    return x.reshape([-1 if i == axis else 1 for i in range(ndim)])


def dequantized(x: Any) -> jax.Array:
    return x.real() if isinstance(x, QuantizedArray | QuantizedProduct) else x


def apply_quantized(
    op: OpDef, p: Params, inputs: list[Any], per_tensor: bool = False
) -> tuple[Any, ...]:
    """Applies one operator of the subgraph to quantised arrays, products or floating arrays."""
    first = inputs[0]
    if op.name in _PRODUCTS:
        weight, *bias = inputs[1:]
        bias = dequantized(bias[0]) if bias else None
        return (QuantizedProduct(op, p, first, weight, bias, per_tensor),)
    if op.name == "BatchNorm" and isinstance(first, QuantizedProduct):
        return (first.normalised(p, *inputs[1:]),)
    return op.apply(p, [dequantized(x) for x in inputs])


def is_nonnegative(p: Params) -> bool:
    """True if the results of the subgraph's last operator are never below 0."""
    op, last = p.bodies[0].last
    if op.name == "Activation":
        return last.act_type in _POSITIVE_ACTIVATIONS
    return op.name in _POSITIVE or (op.name == "clip" and last.a_min >= 0)


def _calibrated(p: Params) -> bool:
    return p.min_calib_range is not None and p.max_calib_range is not None


def _has_ranges(p: Params) -> bool:
    return p.quantized and not p.enable_float_output


def _run_fused(data: tuple[jax.Array, ...], p: Params) -> tuple[jax.Array, ...]:
    """Outputs and auxiliary states of a fused node."""
    (body,) = p.bodies
    count = len(body.input_names)
    arrays, ends = data[:count], iter(data[count:])
    states = [arrays[i] for i in body.states]
    if not p.quantized:
        return (*body(arrays, None, False), *states)
    inputs = [
        QuantizedArray(x, next(ends), next(ends)) if jnp.issubdtype(x.dtype, jnp.integer) else x
        for x in arrays
    ]
    if not isinstance(inputs[0], QuantizedArray):
        raise MXNetError(
            explain("a quantised layer", f"its data is {arrays[0].dtype}, expected int8 or uint8")
        )
    per_filter = p.enable_float_output or _calibrated(p)
    products: list[QuantizedProduct] = []
    addends: list[QuantizedArray] = []

    def apply_op(op: OpDef, params: Params, arguments: list[Any]) -> tuple[Any, ...]:
        if op.name not in _PRODUCTS:
            addends.extend(x for x in arguments if isinstance(x, QuantizedArray))
        results = apply_quantized(op, params, arguments, per_tensor=not per_filter)
        products.extend(x for x in results if isinstance(x, QuantizedProduct))
        return results

    (last,) = body.interpret(inputs, apply_op)
    real = dequantized(last)
    if p.enable_float_output:
        return (real, *states)
    if _calibrated(p):
        low, high = range_end(p.min_calib_range), range_end(p.max_calib_range)
        dtype = "uint8" if is_nonnegative(p) else "int8"
        stored = addends[0].array.dtype.name if addends else dtype
        steps = round_to_dtype(real * scale_of(dtype, low, high), stored)
        return lax.bitcast_convert_type(steps, dtype), low, high, *states
    return *products[-1].steps(real), *states


def _split_inputs(names: tuple[str, ...], p: Params) -> tuple[list[str], list[str]]:
    """The node's inputs to the subgraph, and its inputs that are ends of ranges."""
    arrays = [name for name in names if not name.startswith("out")]
    count = len(p.bodies[0].input_names)
    return arrays[:count], arrays[count:]


def _infer_fused_shape(s: ShapeFacts, p: Params) -> None:
    inner, ends = _split_inputs(tuple(s), p)
    infer_shapes_from_subgraph(s, p.bodies[0], inner)
    for name in ends:
        s.set(name, (1,), because="it is one end of a range")


def _infer_fused_type(t: TypeFacts, p: Params, weights: bool) -> None:
    inner, ends = _split_inputs(tuple(t), p)
    pairs = len(ends) // 2
    if weights:
        of_bytes, fixed = inner[:1], inner[1:pairs]
    else:
        of_bytes, fixed = [*inner[:1], *inner[-1:]][:pairs], []
    for name in of_bytes:
        t.set(name, t[name] or "uint8")
    for name in (*fixed,):
        t.set(name, t[name] or "int8")
    real = [name for name in inner if name not in (*of_bytes, *fixed)]
    for name in (*real, *ends, "out1", "out2"):
        t.set(name, "float32")
    if _has_ranges(p):
        quantised = "uint8" if is_nonnegative(p) else "int8"
        t.set("out0", quantised if _calibrated(p) else "int32")
    else:
        t.set("out0", "float32")


def _conv_outputs(p: Params) -> tuple[str, ...]:
    return ("output", "output_min", "output_max") if _has_ranges(p) else ("output",)


@register(
    "_sg_mkldnn_conv",
    outputs=_conv_outputs,
    infer_shape=_infer_fused_shape,
    infer_type=lambda t, p: _infer_fused_type(t, p, weights=False),
    inner_states=True,
)
def sg_mkldnn_conv(
    *data: jax.Array,
    with_bn: bool = False,
    with_act: bool = False,
    with_relu: bool = False,
    with_sum: bool = False,
    with_postsum_act: bool = False,
    with_postsum_relu: bool = False,
    quantized: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    weight_channelwise_scale: bool = True,
    bodies: Bodies,
):
    """A convolution with normalisation, a sum and activations, as given by the node's subgraph.

    The arrays are the subgraph's inputs in their order - data (N, C, H, W), weight, perhaps bias,
    the four of BatchNorm, and the addend - and after them, with ``quantized``, the two ends, (1,)
    each, of the range of data and of the addend, which are int8 or uint8. BatchNorm uses its moving
    statistics, which stay. The weight is floating and becomes int8, filter by filter, after
    BatchNorm has been folded into it. Returns int8 over the calibrated range - uint8 if the last
    operator gives nothing below 0 - and its ends, (1,) each; or floating numbers, with
    ``enable_float_output`` or without ``quantized``. The flags repeat facts of the subgraph. As in
    MXNet, groups of several filters lose accuracy: the filters of the k-th group are quantised with
    the scale of the k-th filter.
    """
    return _run_fused(
        data,
        Params(
            quantized=quantized,
            enable_float_output=enable_float_output,
            min_calib_range=min_calib_range,
            max_calib_range=max_calib_range,
            bodies=bodies,
        ),
    )


def _dense_outputs(p: Params) -> tuple[str, ...]:
    return ("output", "min_output", "max_output") if _has_ranges(p) else ("output",)


@register(
    "_sg_mkldnn_fully_connected",
    outputs=_dense_outputs,
    infer_shape=_infer_fused_shape,
    infer_type=lambda t, p: _infer_fused_type(t, p, weights=True),
    inner_states=True,
)
def sg_mkldnn_fully_connected(
    *data: jax.Array,
    with_eltwise: bool = False,
    with_relu: bool = False,
    quantized: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    channel_wise_quantize: bool = False,
    bodies: Bodies,
):
    """An affine map with element-wise operators behind it, as given by the node's subgraph.

    The arrays are the subgraph's inputs in their order - data (N, K), weight, perhaps bias - and
    behind them, with ``quantized``, the two ends, (1,) each, of the range of each of these that is
    int8 or uint8. Returns what ``_sg_mkldnn_conv`` returns.
    """
    return _run_fused(
        data,
        Params(
            quantized=quantized,
            enable_float_output=enable_float_output,
            min_calib_range=min_calib_range,
            max_calib_range=max_calib_range,
            bodies=bodies,
        ),
    )
