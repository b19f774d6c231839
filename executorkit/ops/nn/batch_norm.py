"""Batch normalisation: BatchNorm, its form before 1.0, over devices, and with a rectifier."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._support.annotations import Attrs
from ..schema.attrs import Aux, Shape, Train, Tuning
from ..schema.calls import same_signature
from ..schema.channels_last import layout_per_channel
from ..schema.inference import Params, TypeFacts, channel_shapes
from ..schema.operator_registry import register
from ..schema.traits import MOVING_STATISTICS, SPANS_DEVICES
from .moments import at_least_float32, batch_normalize, mapped_axis, moving_normalize

_PER_CHANNEL = ("gamma", "beta", "moving_mean", "moving_var")


def _infer_type(t: TypeFacts, p: Params) -> None:
    t.same("data", "out0")
    if t["data"] is None:
        return
    stats = "float32" if t["data"] in ("float16", "bfloat16") else t["data"]
    for name in (*_PER_CHANNEL, "out1", "out2"):
        t.set(name, stats, because=f"data is {t['data']}")


def _output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    data, channels = shapes[:2]
    return data, channels, channels


_RULES: Attrs = {
    "outputs": ("output", "mean", "var"),
    "visible": lambda p: 3 if p.output_mean_var else 1,
    "infer_shape": lambda s, p: channel_shapes(s, p.get("axis", 1), *_PER_CHANNEL),
    "output_shapes": _output_shapes,
    "infer_type": _infer_type,
    "constant_inputs": lambda p: {"gamma": 1.0} if p.fix_gamma else {},
    "traits": (MOVING_STATISTICS,),
}
_SYNC_RULES: Attrs = {**_RULES, "traits": (MOVING_STATISTICS, SPANS_DEVICES)}


def _batch_norm(
    data: Array, gamma: Array, beta: Array, moving_mean: Array,
    moving_var: Array, *, eps: float, momentum: float, fix_gamma: bool,
    use_global_stats: bool, train: bool, axis: int = 1, over: str | None = None,
) -> tuple[Array, Array, Array, Array, Array]:  # fmt: skip
    axis %= data.ndim
    axes = tuple(i for i in range(data.ndim) if i != axis)
    shape = [1] * data.ndim
    shape[axis] = data.shape[axis]
    x = at_least_float32(data)
    scale = jnp.ones_like(gamma) if fix_gamma else gamma
    scale, shift = scale.reshape(shape), beta.reshape(shape)
    if train and not use_global_stats:
        out, mean, var = batch_normalize(x, scale, shift, axes, eps, over)
        # They pass no gradient, so that the update of the moving statistics is not differentiated.
        mean, var = (lax.stop_gradient(x).reshape(-1) for x in (mean, var))
        moving_mean = moving_mean * momentum + mean * (1 - momentum)
        moving_var = moving_var * momentum + var * (1 - momentum)
        return out.astype(data.dtype), mean, var, moving_mean, moving_var
    mean, var = lax.stop_gradient((moving_mean, moving_var))
    if use_global_stats:
        factor = scale * lax.rsqrt(var + eps).reshape(shape)
        out = (x - mean.reshape(shape)) * factor + shift
    else:
        out = moving_normalize(
            x, scale, shift, mean.reshape(shape), var.reshape(shape), axes, eps, over
        )
    return out.astype(data.dtype), mean, var, moving_mean, moving_var


@register("BatchNorm", **_RULES, layout_rule=layout_per_channel, kind="norm")
def batch_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Aux,
    moving_var: Aux,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: Tuning[bool] = False,
    min_calib_range: Tuning[float | None] = None,
    max_calib_range: Tuning[float | None] = None,
    train: Train = False,
):
    """Normalises each channel of ``axis`` over the batch (Ioffe and Szegedy, arXiv:1502.03167).

    ``out = gamma (data - mean) / sqrt(var + eps) + beta``

    data (N, C, ...) or any shape with C entries on ``axis``; gamma, beta and the auxiliary states
    moving_mean, moving_var (C,), float32 if data is float16. The result has data's shape and dtype.

    | is_train | use_global_stats | mean, var used    | moving statistics | gradient of data       |
    | -------- | ---------------- | ----------------- | ----------------- | ---------------------- |
    | True     | False            | of this batch     | updated           | through mean and var   |
    | True     | True             | moving statistics | kept              | mean, var are constant |
    | False    | False            | moving statistics | kept              | as in the first row    |
    | False    | True             | moving statistics | kept              | mean, var are constant |

    The third gradient is MXNet's, not the derivative: the formula for batch statistics, applied to
    the moving ones. ``use_global_stats=True`` gives the derivative.

    In each row, ``fix_gamma=True`` (the default!) means that gamma counts as 1, is overwritten with
    1 and gets zero gradient; ``fix_gamma=False`` uses and trains it.

    The update is ``moving = momentum moving + (1 - momentum) batch``, with the biased variance; the
    executor applies it in backward. ``output_mean_var`` shows two more outputs: mean and, unlike
    its name, 1 / sqrt(var + eps); their head gradients are ignored.
    """
    out, mean, var, new_mean, new_var = _batch_norm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum,
        fix_gamma=fix_gamma, use_global_stats=use_global_stats, train=train, axis=axis,
    )  # fmt: skip
    return out, mean, lax.stop_gradient(lax.rsqrt(var + eps)), new_mean, new_var


@register("BatchNorm_v1", **_RULES)
def batch_norm_v1(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Aux,
    moving_var: Aux,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    train: Train = False,
):
    """Applies the batch normalisation of MXNet before 1.0: :func:`batch_norm` along axis 1.

    data (N, C, ...), gamma, beta, moving_mean, moving_var (C,). ``output_mean_var`` shows mean and
    the variance itself. After an inference forward without ``use_global_stats``, MXNet's gradient
    of data has one small term more than :func:`batch_norm`'s; here the two are equal.
    """
    return _batch_norm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum,
        fix_gamma=fix_gamma, use_global_stats=use_global_stats, train=train,
    )  # fmt: skip


@register("_contrib_SyncBatchNorm", **_SYNC_RULES)
def sync_batch_norm(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Aux,
    moving_var: Aux,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str,
    train: Train = False,
):
    """Applies batch normalisation with the statistics of the whole batch of a group of devices.

    data (N, C, ...), gamma, beta, moving_mean, moving_var (C,). With ``ndev`` above 1, on a group
    of devices that runs as one program, statistics and the sums in the gradient of data run over
    all devices: results, gradients (gamma's and beta's added up over the devices, as for all
    parameters) and moving statistics equal :func:`batch_norm_v1` of the whole batch on one device.
    ``ndev`` is not used otherwise, nor is ``key``, by which MXNet's devices find each other. With
    ``ndev=1``, on a single device, and where slices run as separate programs (of unequal lengths,
    or several on one device) it is :func:`batch_norm_v1` of this device's slice. Zhang et al.,
    Context Encoding for Semantic Segmentation, 2018.
    """
    return _batch_norm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum,
        fix_gamma=fix_gamma, use_global_stats=use_global_stats, train=train,
        over=mapped_axis() if ndev > 1 else None,
    )  # fmt: skip


@register("_contrib_BatchNormWithReLU", **_RULES, layout_rule=layout_per_channel)
@same_signature(batch_norm)
def batch_norm_with_relu(**arguments: Any):
    """Computes max(0, x) of :func:`batch_norm`, as one operator.

    data (N, C, ...), gamma, beta, moving_mean, moving_var (C,).
    """
    out, *others = batch_norm(**arguments)
    return jax.nn.relu(out), *others
