"""Subgraphs on bytes: products that wait for the normalisation folded into their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ._facts import Params
from ._opdef import OpDef
from ._quantized import STEPS, one, product_range, rounded, scale_of, scale_of_array

#: Operators whose results have nothing below 0, so that they are kept as uint8.
_POSITIVE = {"relu", "sigmoid", "exp", "abs", "square", "sqrt"}
_POSITIVE_ACTIVATIONS = {"relu", "sigmoid", "softrelu"}


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
    """A convolution or an affine map of bytes that waits for what is to be folded into it."""

    op: OpDef
    params: Params
    data: QuantizedArray
    weight: jax.Array | QuantizedArray
    bias: jax.Array | None
    per_tensor: bool = False

    def normalised(self, p: Params, gamma, beta, mean, var) -> QuantizedProduct:
        """This, followed by batch normalisation with fixed statistics."""
        assert not isinstance(self.weight, QuantizedArray)
        factor = jax.lax.rsqrt(var + p.eps) * (1.0 if p.fix_gamma else gamma)
        weight = self.weight * _per_filter(factor, self.weight.ndim, 0)
        bias = beta - mean * factor + (0.0 if self.bias is None else self.bias * factor)
        return replace(self, weight=weight, bias=bias)

    def quantised_weight(self) -> tuple[jax.Array, jax.Array]:
        """The weight as bytes, and the scale of each filter, where it came as real numbers.

        With ``per_tensor`` all filters have one scale, (1,), as in MXNet without calibration.
        Otherwise it turns the filters of the k-th group into bytes with the scale of the k-th
        filter.
        """
        if isinstance(self.weight, QuantizedArray):
            return self.weight.array, self.weight.scale
        if self.per_tensor:
            scale = scale_of("int8", *self.weight_range())
            return rounded(self.weight * scale, "int8"), one(scale)
        axes = tuple(range(1, self.weight.ndim))
        most = jnp.max(jnp.abs(self.weight), axis=axes)
        scale = scale_of("int8", one(0.0), one(1.0)) / jnp.where(most > 0, most, 1)
        groups = self.params.get("num_group", 1)
        used = jnp.repeat(scale[:groups], len(scale) // groups) if groups > 1 else scale
        return rounded(self.weight * _per_filter(used, self.weight.ndim, 0), "int8"), scale

    def weight_range(self) -> tuple[jax.Array, jax.Array]:
        """The ends of the weight's range, (1,) each."""
        if isinstance(self.weight, QuantizedArray):
            return self.weight.low, self.weight.high
        most = one(jnp.max(jnp.abs(self.weight)))
        return -most, most

    def steps(self, real: jax.Array) -> tuple[jax.Array, ...]:
        """Real numbers as int32, in steps of the products, and the range of int32."""
        scale = self.data.scale * self.quantised_weight()[1].reshape(())
        last = int(STEPS[self.data.array.dtype.name])
        ends = product_range(last, self.data.low, self.data.high, *self.weight_range())
        return jnp.round(real.astype(jnp.float64) * scale).astype(jnp.int32), *ends

    def real(self) -> jax.Array:
        """What the products of bytes stand for."""
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


def real_of(x: Any) -> jax.Array:
    return x.real() if isinstance(x, QuantizedArray | QuantizedProduct) else x


def apply_quantized(
    op: OpDef, p: Params, inputs: list[Any], per_tensor: bool = False
) -> tuple[Any, ...]:
    """One operator of the subgraph, on bytes, on products that wait, or on real numbers."""
    first = inputs[0]
    if op.name in ("Convolution", "FullyConnected"):
        weight, *bias = inputs[1:]
        bias = real_of(bias[0]) if bias else None
        return (QuantizedProduct(op, p, first, weight, bias, per_tensor),)
    if op.name == "BatchNorm" and isinstance(first, QuantizedProduct):
        return (first.normalised(p, *inputs[1:]),)
    return op.apply(p, [real_of(x) for x in inputs])


def is_nonnegative(p: Params) -> bool:
    """Whether the last operator of the subgraph gives nothing below 0."""
    op, last = p.bodies[0].last
    if op.name == "Activation":
        return last.act_type in _POSITIVE_ACTIVATIONS
    return op.name in _POSITIVE or (op.name == "clip" and last.a_min >= 0)
