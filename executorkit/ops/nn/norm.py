"""Normalisations per sample: layer, instance, group, L2 and local response normalisation."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Count, Shape
from ..schema.channels_last import LayoutRewrite, layout_elementwise
from ..schema.inference import Params, ShapeFacts, channel_shapes
from ..schema.operator_registry import register
from ..schema.traits import NAMED_DATA
from ..tensor.derivatives import with_jvp
from .moments import at_least_float32, standardize
from .windows import reduce_windows


@register(
    "LayerNorm",
    outputs=("output", "mean", "std"),
    visible=lambda p: 3 if p.output_mean_var else 1,
    infer_shape=lambda s, p: channel_shapes(s, p.axis, "gamma", "beta"),
    kind="norm",
)
def layer_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
):
    """Computes gamma (data - mean) / sqrt(var + eps) + beta, with moments along ``axis``.

    data of any shape, gamma and beta (size of ``axis``,); the variance is biased. Returns data's
    shape and dtype; ``output_mean_var`` shows mean and, under the name std, sqrt(var + eps), both
    with size 1 on ``axis``; their head gradients are ignored. (Ba et al., arXiv:1607.06450)
    """
    axis %= data.ndim
    shape = [1] * data.ndim
    shape[axis] = data.shape[axis]
    x, mean, var = standardize(at_least_float32(data), (axis,), eps)
    out = x * at_least_float32(gamma).reshape(shape) + at_least_float32(beta).reshape(shape)
    return tuple(a.astype(data.dtype) for a in (out, mean, jnp.sqrt(var + eps)))


def _instance_norm_layout(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    rewrite = layout_elementwise(p, shapes[:1])
    return rewrite and rewrite._replace(outputs=3, function=partial(_instance_norm, axis=-1))


def _instance_norm(
    data: Array, gamma: Array, beta: Array, *, eps: float, axis: int
) -> tuple[Array, ...]:
    axis %= data.ndim
    shape = [1] * data.ndim
    shape[axis] = data.shape[axis]
    axes = tuple(i for i in range(1, data.ndim) if i != axis)
    x, mean, var = standardize(at_least_float32(data), axes, eps)
    out = x * at_least_float32(gamma).reshape(shape) + at_least_float32(beta).reshape(shape)
    return tuple(a.astype(data.dtype) for a in (out, mean, var))


@register(
    "InstanceNorm", outputs=("output", "mean", "var"), visible=1, kind="norm",
    infer_shape=lambda s, p: channel_shapes(s, 1, "gamma", "beta"),
    layout_rule=_instance_norm_layout,
)  # fmt: skip
def instance_norm(data: Array, gamma: Array, beta: Array, *, eps: float = 1e-3):
    """Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of each channel.

    data (N, C, spatial...), gamma and beta (C,). Returns data's shape and dtype; MXNet has it for
    float32 only. (Ulyanov et al., arXiv:1607.08022)
    """
    return _instance_norm(data, gamma, beta, eps=eps, axis=1)


def _infer_group_norm_shape(s: ShapeFacts, p: Params) -> None:
    data = s["data"]
    if data is None:
        return
    if len(data) < 3:
        raise ShapeError(f"'data' is {data}, expected at least 3 axes", None, "data")
    if data[1] % p.num_groups:
        problem = f"{data[1]} channels cannot be divided into {p.num_groups} groups"
        raise ShapeError(problem, because=f"data is {data}")
    for name in ("gamma", "beta"):
        s.set(name, (p.num_groups,), because=f"num_groups={p.num_groups}")


@register(
    "GroupNorm",
    outputs=("output", "mean", "std"),
    visible=lambda p: 3 if p.output_mean_var else 1,
    infer_shape=_infer_group_norm_shape,
    kind="norm",
)
def group_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
):
    """Computes gamma (data - mean) / sqrt(var + eps) + beta, with the moments of groups of
    channels.

    data (N, C, spatial...); gamma and beta have one entry per group (num_groups,), not per channel
    as elsewhere. Returns data's shape and dtype; ``output_mean_var`` shows mean and, under the name
    std, sqrt(var + eps), both (N, num_groups); their head gradients are ignored. (Wu and He,
    arXiv:1803.08494)
    """
    grouped = at_least_float32(data).reshape(data.shape[0], num_groups, -1)
    x, mean, var = standardize(grouped, (2,), eps)
    out = x * at_least_float32(gamma).reshape(-1, 1) + at_least_float32(beta).reshape(-1, 1)
    std = jnp.sqrt(var + eps)
    return (
        out.reshape(data.shape).astype(data.dtype),
        mean.squeeze(2).astype(data.dtype),
        std.squeeze(2).astype(data.dtype),
    )


@register(
    "L2Normalization", outputs=("output", "norm"), visible=1, traits={NAMED_DATA}, kind="norm"
)
def l2_normalization(
    data: Array, *, eps: float = 1e-10, mode: Literal["channel", "instance", "spatial"] = "instance"
):
    """Computes data / sqrt(sum data^2 + eps).

    data (N, C, ...); the sum runs over all axes but the first ("instance"), over axis 1
    ("channel"), or over the axes from 2 on ("spatial"). Returns data's shape and dtype.
    """
    first, last = {"instance": (1, data.ndim), "channel": (1, 2), "spatial": (2, data.ndim)}[mode]
    if mode != "instance" and data.ndim < 3:
        raise ShapeError(f"'data' is {data.shape}, expected at least 3 axes", f"mode={mode!r}")
    axes = tuple(range(first, last))
    x = at_least_float32(data)
    square = jnp.sum(lax.square(x), axes, keepdims=True) + eps
    norm = lax.stop_gradient(jnp.sqrt(square)).squeeze(axes)
    return (x * lax.rsqrt(square)).astype(data.dtype), norm.astype(data.dtype)


#: Maximum number of channels for which a sum of neighbours is written out: XLA's own is slow on
#: CPUs.
_MAX_WRITTEN_OUT = 32


def _sum_of_neighbours(x: Array, half: int) -> Array:
    padding = [(0, 0), (half, half), *((0, 0),) * (x.ndim - 2)]
    count = 2 * half + 1
    if count > _MAX_WRITTEN_OUT:
        return reduce_windows(x, False, (1,), (count,), (1,), padding[1:2])
    size, x = x.shape[1], jnp.pad(x, padding)
    return reduce(jnp.add, (lax.slice_in_dim(x, i, i + size, axis=1) for i in range(count)))


def _inverse_power(norm: Array, beta: float) -> Array:
    # Square roots for the common exponent are several times as fast.
    if beta != 0.75:
        return jnp.power(norm, -beta)
    root = lax.rsqrt(norm)
    return root * jnp.sqrt(root)


@register("LRN", outputs=("output", "tmp_norm"), visible=1, traits={NAMED_DATA}, kind="norm")
def lrn(data: Array, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: Count):
    """Computes local response normalisation: data (knorm + alpha / nsize sum data^2) ^ -beta.

    data (N, C, ...); the sum runs over each channel and (nsize - 1) // 2 on both sides of it.
    Returns data's shape and dtype. (Krizhevsky et al., NIPS 2012, section 3.3)
    """
    half, share = (nsize - 1) // 2, alpha / nsize

    def norm(x: Array) -> Array:
        return knorm + share * _sum_of_neighbours(lax.square(x), half)

    def slope(t: Array, out: Array, x: Array) -> Array:
        norm_x = norm(x)
        # Without the barrier, the terms of the sum are computed again for each neighbour.
        neighbours = lax.optimization_barrier(_sum_of_neighbours(x * t, half))
        return t * _inverse_power(norm_x, beta) - (2 * beta * share) * out / norm_x * neighbours

    normalized = with_jvp(lambda x: x * _inverse_power(norm(x), beta), slope)
    x = at_least_float32(data)
    return normalized(x).astype(data.dtype), lax.stop_gradient(norm(x)).astype(data.dtype)
