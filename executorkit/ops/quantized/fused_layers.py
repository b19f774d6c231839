"""Convolutions and affine maps that MXNet's optimiser for x86 fused with the operators after them.

Files of quantised networks hold such nodes, each with a subgraph. The inputs are the subgraph's,
then, where the node is quantised, the two ends of the range of each 8-bit input. Batch
normalisation is folded into a product's weight before it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Operands, Raw
from ...errors import MXNetError
from ..schema.attrs import Bodies
from ..schema.inference import Params, ShapeFacts, TypeFacts
from ..schema.operator_registry import OpDef, register
from ..schema.subgraph_bodies import infer_subgraph_shapes
from ..schema.traits import INNER_STATES
from ..tensor.binary_arithmetic import widest
from . import int8_arithmetic as int8

#: Operators whose results are never below 0, so that they are stored as uint8.
_POSITIVE = {"relu", "sigmoid", "exp", "abs", "square", "sqrt"}
_POSITIVE_ACTIVATIONS = {"relu", "sigmoid", "softrelu"}
_PRODUCTS = {"Convolution", "FullyConnected"}
#: Largest magnitude of a bias in steps: half of the largest int32.
_MAX_BIAS = 2.0**30


@dataclass(frozen=True, slots=True)
class QuantizedArray:
    array: Array
    low: Array
    high: Array

    @property
    def scale(self) -> Array:
        return int8.scale_of_array(self.array, self.low, self.high)


@dataclass(frozen=True, slots=True)
class QuantizedProduct:
    """A convolution or affine map of quantised data, not yet computed: its weight may change."""

    op: OpDef
    params: Params
    data: QuantizedArray
    weight: Array | QuantizedArray
    bias: Array | QuantizedArray | None
    per_tensor: bool = False

    def normalised(self, p: Params, gamma, beta, mean, var) -> QuantizedProduct:
        assert not isinstance(self.weight, QuantizedArray)
        # The largest weight lies at 127.5 steps, so the last bit decides whether it is rounded up.
        # MXNet divides by the root in float64; XLA would multiply with an approximate reciprocal
        # root without the barrier.
        deviation = lax.optimization_barrier(jnp.sqrt(widest(var) + p.eps))
        factor = (1.0 if p.fix_gamma else widest(gamma)) / deviation
        factor = lax.optimization_barrier(factor.astype(jnp.float32))
        weight = self.weight * _per_filter(factor, self.weight.ndim, 0)
        bias = beta - factor * mean if self.bias is None else beta + factor * (self.bias - mean)
        return replace(self, weight=weight, bias=bias)

    def quantised_weight(self) -> tuple[Array, Array]:
        """Returns the weight as int8, and its scale or, for a floating weight, the scale of each
        filter.

        With ``per_tensor`` all filters have one scale, (1,), as in MXNet without calibration.
        Otherwise a filter's scale is limited so that its bias is an int32 and, as in MXNet, the
        filters of the k-th group are quantised with the scale of the k-th filter.
        """
        if isinstance(self.weight, QuantizedArray):
            return self.weight.array, self.weight.scale
        if self.per_tensor:
            scale = int8.scale_of("int8", *self.weight_range())
            return int8.round_to_dtype(self.weight * scale, "int8"), int8.range_end(scale)
        axes = tuple(range(1, self.weight.ndim))
        magnitudes = jnp.max(jnp.abs(self.weight), axis=axes)
        scale = int8.STEPS["int8"] / jnp.where(magnitudes > 0, magnitudes, 1)
        if isinstance(self.bias, Array):
            bias = jnp.abs(self.bias)
            limit = _MAX_BIAS / jnp.where(bias > 0, bias, 1) / self.data.scale
            scale = jnp.where(bias > 0, jnp.minimum(scale, limit), scale)
        groups = self.params.get("num_group", 1)
        group_scale = jnp.repeat(scale[:groups], len(scale) // groups) if groups > 1 else scale
        steps = self.weight * _per_filter(group_scale, self.weight.ndim, 0)
        return int8.round_to_dtype(steps, "int8"), scale

    def weight_range(self) -> tuple[Array, Array]:
        if isinstance(self.weight, QuantizedArray):
            return self.weight.low, self.weight.high
        magnitude = int8.range_end(jnp.max(jnp.abs(self.weight)))
        return -magnitude, magnitude

    def output_range(self) -> tuple[Array, Array]:
        # The real numbers that the smallest and the largest int32 stand for, (1,) each.
        last = int(int8.STEPS[self.data.array.dtype.name])
        return int8.product_range(last, self.data.low, self.data.high, *self.weight_range())

    def unit(self) -> Array:
        scale = self.quantised_weight()[1]
        return self.data.scale * (scale.reshape(()) if scale.size == 1 else scale)

    def steps(self, unit: Array | float | None) -> Array:
        """Returns the product in ``unit`` steps per unit, or the sums themselves, as float32."""
        weight, scale = self.quantised_weight()
        weight, data = weight.astype(jnp.float32), self.data.array.astype(jnp.float32)
        (total,) = self.op.apply(Params({**self.params, "no_bias": True}), (data, weight))
        axis = 1 if self.op.name == "Convolution" else total.ndim - 1
        if self.bias is not None:
            total = total + _per_filter(self._bias_steps(scale), total.ndim, axis)
        if unit is None:
            return total
        return total * _per_filter(unit / self.data.scale / scale, total.ndim, axis)

    def _bias_steps(self, weight_scale: Array) -> Array:
        assert self.bias is not None
        if not isinstance(self.bias, QuantizedArray):
            return jnp.round(self.bias * (weight_scale * self.data.scale))
        factor = self.data.scale * weight_scale / self.bias.scale
        exact = self.bias.array.astype(jnp.float32) * factor
        return jnp.trunc(exact + jnp.copysign(0.5, exact))


def _per_filter(x: Array, ndim: int, axis: int) -> Array:
    return x.reshape([-1 if i == axis else 1 for i in range(ndim)])


@dataclass(slots=True)
class QuantizedInterpreter:
    """Evaluates a subgraph in steps of its output, as oneDNN does, once.

    ``unit`` is the number of steps per unit between the operators; None: as the sums of products
    have it. ``clip`` says how a clip is applied: its bounds in these steps ("scale") or unscaled
    ("as it is"), or by the saturation of the output's type, whatever its range ("saturate").
    """

    unit: Array | float | None
    per_tensor: bool
    clip: Literal["scale", "as it is", "saturate"]
    products: list[QuantizedProduct] = field(default_factory=list)
    addends: list[QuantizedArray] = field(default_factory=list)

    def apply(self, op: OpDef, p: Params, inputs: list[Raw]) -> Operands:
        first, *others = inputs
        if op.name in _PRODUCTS:
            bias = others[1] if len(others) > 1 else None
            self.products.append(QuantizedProduct(op, p, first, others[0], bias, self.per_tensor))
            return (self.products[-1],)
        if op.name == "BatchNorm" and isinstance(first, QuantizedProduct):
            self.products[-1] = first.normalised(p, *others)
            return (self.products[-1],)
        if op.name == "clip" and self.clip == "saturate":
            return (first,)
        if op.name == "clip" and self.clip == "scale":
            unit = self._steps_per_unit()
            return (jnp.clip(self.floating(first), p.a_min * unit, p.a_max * unit),)
        self.addends.extend(x for x in inputs if isinstance(x, QuantizedArray))
        return op.apply(p, [self.floating(x) for x in inputs])

    def floating(self, x: Raw) -> Array:
        if isinstance(x, QuantizedProduct):
            return x.steps(self.unit)
        if isinstance(x, QuantizedArray):
            return x.array.astype(jnp.float32) * (self._steps_per_unit() / x.scale)
        return x

    def _steps_per_unit(self) -> Array | float:
        return self.products[-1].unit() if self.unit is None else self.unit


def _is_dense(p: Params) -> bool:
    return "channel_wise_quantize" in p


def is_nonnegative(p: Params) -> bool:
    """Returns whether a subgraph's result is stored as uint8. MXNet takes a leaky unit after an
    affine map for one that gives nothing below 0."""
    (body,) = p.bodies
    op, last = body.last
    if op.name == "Activation":
        return last.act_type in _POSITIVE_ACTIVATIONS
    if op.name == "LeakyReLU":
        return _is_dense(p) and last.act_type == "leaky"
    return op.name in _POSITIVE or (op.name == "clip" and last.a_min >= 0)


def _has_ranges(p: Params) -> bool:
    return p.quantized and not p.enable_float_output


def _run_fused(data: tuple[Array, ...], p: Params) -> tuple[Array, ...]:
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
        problem = f"its data is {arrays[0].dtype}, expected int8 or uint8"
        raise MXNetError("a quantised layer", problem)
    calibrated = int8.is_calibrated(p)
    with_sum = sum(isinstance(x, QuantizedArray) for x in inputs) > 1
    activated = body.last[0].name not in _PRODUCTS
    low, high = (int8.range_end(x or 0.0) for x in (p.min_calib_range, p.max_calib_range))
    dtype = "uint8" if is_nonnegative(p) else "int8"
    scale = int8.scale_of(dtype, low, high)
    # After an affine map, activations see real numbers, after a convolution steps of the output.
    in_real = p.enable_float_output or (calibrated and _is_dense(p) and activated)
    interpreter = QuantizedInterpreter(
        unit=1.0 if in_real else scale if calibrated else None,
        per_tensor=not (calibrated or p.enable_float_output),
        clip="as it is" if _is_dense(p) else "scale" if with_sum else "saturate",
    )
    (last,) = body.interpret(inputs, interpreter.apply)
    result = interpreter.floating(last)
    if p.enable_float_output:
        return (result, *states)
    if not calibrated:
        product = interpreter.products[-1]
        return jnp.round(result).astype(jnp.int32), *product.output_range(), *states
    stored = interpreter.addends[0].array.dtype.name if interpreter.addends else dtype
    steps = int8.round_to_dtype(result * scale if in_real else result, stored)
    return lax.bitcast_convert_type(steps, dtype), low, high, *states


def _split_inputs(names: tuple[str, ...], p: Params) -> tuple[list[str], list[str]]:
    arrays = [name for name in names if not name.startswith("out")]
    count = len(p.bodies[0].input_names)
    return arrays[:count], arrays[count:]


def _infer_fused_shape(s: ShapeFacts, p: Params) -> None:
    inner, ends = _split_inputs(tuple(s), p)
    infer_subgraph_shapes(s, p.bodies[0], inner)
    for name in ends:
        s.set(name, (1,), because="it is one end of a range")


def _infer_fused_type(t: TypeFacts, p: Params, weights: bool) -> None:
    inner, ends = _split_inputs(tuple(t), p)
    pairs = len(ends) // 2
    of_bytes = inner[:1] if weights else [*inner[:1], *inner[-1:]][:pairs]
    fixed = inner[1:pairs] if weights else []
    int8.default_to_unsigned(t, *of_bytes)
    for name in fixed:
        t.set(name, t[name] or "int8")
    real = [name for name in inner if name not in (*of_bytes, *fixed)]
    for name in (*real, *ends, "out1", "out2"):
        t.set(name, "float32")
    if _has_ranges(p):
        integer = "uint8" if is_nonnegative(p) else "int8"
        t.set("out0", integer if int8.is_calibrated(p) else "int32")
    else:
        t.set("out0", "float32")


@register(
    "_sg_mkldnn_conv",
    outputs=lambda p: ("output", "output_min", "output_max")[: 3 if _has_ranges(p) else 1],
    infer_shape=_infer_fused_shape,
    infer_type=lambda t, p: _infer_fused_type(t, p, weights=False),
    traits={INNER_STATES},
)
def sg_mkldnn_conv(
    *data: Array,
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
    """Computes a convolution with normalisation, a sum and activations, as the node's subgraph
    says.

    The arrays are the subgraph's inputs in their order - data (N, C, H, W), weight, perhaps bias,
    the four of BatchNorm, and the addend - and after them, with ``quantized``, the two ends, (1,)
    each, of the range of data and of the addend, which are int8 or uint8. BatchNorm uses its moving
    statistics and does not change them. The weight is floating and becomes int8, filter by filter,
    with BatchNorm folded into it. Returns int8 over the calibrated range - uint8 if the last
    operator gives nothing below 0 - and its ends, (1,) each; or floating numbers, with
    ``enable_float_output`` or without ``quantized``. The flags repeat facts of the subgraph. As in
    MXNet, groups of several filters lose accuracy: the filters of the k-th group are quantised with
    the scale of the k-th filter.
    """
    return _run_fused(data, Params(locals()))


@register(
    "_sg_mkldnn_fully_connected",
    outputs=lambda p: int8.OUTPUTS[: 3 if _has_ranges(p) else 1],
    infer_shape=_infer_fused_shape,
    infer_type=lambda t, p: _infer_fused_type(t, p, weights=True),
    traits={INNER_STATES},
)
def sg_mkldnn_fully_connected(
    *data: Array,
    with_eltwise: bool = False,
    with_relu: bool = False,
    quantized: bool = False,
    enable_float_output: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    channel_wise_quantize: bool = False,
    bodies: Bodies,
):
    """Computes an affine map with element-wise operators after it, as the node's subgraph says.

    The arrays are the subgraph's inputs in their order - data (N, K), weight, perhaps bias - and
    after them, with ``quantized``, the two ends, (1,) each, of the range of each int8 or uint8
    input. Returns the same as ``_sg_mkldnn_conv``.
    """
    return _run_fused(data, Params(locals()))
