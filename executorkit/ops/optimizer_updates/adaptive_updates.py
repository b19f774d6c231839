"""Updates that scale the gradient element by element with its history: Adam, RMSProp, FTRL, ..."""

import jax.numpy as jnp
from jax import Array

from ..schema.attrs import Aux, Floats
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from ..schema.traits import MUTATES
from .update_common import (
    CLIP,
    COUNT,
    LAZY,
    LR,
    REQUIRED,
    RESCALE,
    WD,
    Attrs,
    UpdateRule,
    clip_to_limit,
    register_many,
    register_update,
    rescale_and_clip,
)

_EPSILON: Attrs = {"epsilon": (float, 1e-8)}
_MEANS: Attrs = {"beta1": (float, 0.9), "beta2": (float, 0.999), **_EPSILON}


def moving_averages(p: Params, grad: Array, mean: Array, var: Array):
    mean = p.beta1 * mean + (1 - p.beta1) * grad
    return mean, p.beta2 * var + (1 - p.beta2) * jnp.square(grad)


def _decayed_gradient(p: Params, weight: Array, grad: Array, limit: float) -> Array:
    return clip_to_limit(grad * p.rescale_grad + p.wd * weight, limit)


def _adam(p: Params, weight: Array, grad: Array, mean: Array, var: Array):
    mean, var = moving_averages(p, _decayed_gradient(p, weight, grad, p.clip_gradient), mean, var)
    return weight - p.lr * mean / (jnp.sqrt(var) + p.epsilon), mean, var


def _adamw(p: Params, weight: Array, grad: Array, mean: Array, var: Array):
    scale = p.rescale_grad.reshape(()).astype(weight.dtype)
    new_mean, new_var = moving_averages(p, clip_to_limit(grad * scale, p.clip_gradient), mean, var)
    step = p.lr * new_mean / (jnp.sqrt(new_var) + p.epsilon) + p.wd * weight
    usable = jnp.isfinite(scale) & (scale != 0)
    new = (weight - p.eta * step, new_mean, new_var)
    return tuple(jnp.where(usable, a, b) for a, b in zip(new, (weight, mean, var), strict=True))


def _ftml(p: Params, weight: Array, grad: Array, d: Array, v: Array, z: Array):
    g = _decayed_gradient(p, weight, grad, p.clip_grad)
    v = p.beta2 * v + (1 - p.beta2) * jnp.square(g)
    new_d = ((1 - p.beta1**p.t) / p.lr) * (jnp.sqrt(v / (1 - p.beta2**p.t)) + p.epsilon)
    z = p.beta1 * z + (1 - p.beta1) * g - (new_d - p.beta1 * d) * weight
    return -z / new_d, new_d, v, z


def _ftrl(p: Params, weight: Array, grad: Array, z: Array, n: Array):
    g = rescale_and_clip(p, grad)
    new_n = n + jnp.square(g)
    z = z + g - (jnp.sqrt(new_n) - jnp.sqrt(n)) * weight / p.lr
    new = (jnp.sign(z) * p.lamda1 - z) / ((p.beta + jnp.sqrt(new_n)) / p.lr + p.wd)
    return jnp.where(jnp.abs(z) > p.lamda1, new, 0), z, new_n


def _rmsprop(p: Params, weight: Array, grad: Array, n: Array):
    g = _decayed_gradient(p, weight, grad, p.clip_gradient)
    n = (1 - p.gamma1) * jnp.square(g) + p.gamma1 * n
    return clip_to_limit(weight - p.lr * g / jnp.sqrt(n + p.epsilon), p.clip_weights), n


def _rmsprop_alex(p: Params, weight: Array, grad: Array, n: Array, g: Array, delta: Array):
    new = _decayed_gradient(p, weight, grad, p.clip_gradient)
    n = (1 - p.gamma1) * jnp.square(new) + p.gamma1 * n
    g = (1 - p.gamma1) * new + p.gamma1 * g
    delta = p.gamma2 * delta - p.lr * new / jnp.sqrt(n - jnp.square(g) + p.epsilon)
    return clip_to_limit(weight + delta, p.clip_weights), n, g, delta


ADAM = UpdateRule(
    _adam,
    "Adam without bias correction: mean (beta1) and var (beta2) are moving averages of h and h^2, "
    "where h is rescale_grad grad + wd weight, clipped like g; "
    "weight - lr mean / (sqrt(var) + epsilon). Source: Kingma and Ba, 2015.",
    ("mean", "var"),
    {**LR, **_MEANS, **WD, **RESCALE, **LAZY},
)
ADAMW = UpdateRule(
    _adamw,
    "Adam with decoupled weight decay: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), "
    "where mean (beta1) and var (beta2) are moving averages of g and g^2. rescale_grad is an array "
    "of one element; where it is 0 or not finite, nothing changes. Source: Loshchilov and Hutter, "
    "2019.",
    ("mean", "var"),
    {**LR, **_MEANS, **WD, "eta": (float, REQUIRED), **CLIP},
    ("rescale_grad",),
)
_CLIP_GRAD: Attrs = {"rescale_grad": (float, 1.0), "clip_grad": (float, -1.0)}
FTML = UpdateRule(
    _ftml,
    "Follow the moving leader, at step t: g = rescale_grad grad + wd weight, clipped by clip_grad; "
    "v = beta2 v + (1 - beta2) g^2; d' = (1 - beta1^t) / lr (sqrt(v / (1 - beta2^t)) + epsilon); "
    "z = beta1 z + (1 - beta1) g - (d' - beta1 d) weight; -z / d'. Source: Zheng and Kwok, 2017.",
    ("d", "v", "z"),
    {**LR, **_MEANS, "beta1": (float, 0.6), "t": (int, REQUIRED), **WD, **_CLIP_GRAD},
)
FTRL = UpdateRule(
    _ftrl,
    "Follow the regularised leader: z = z + g - (sqrt(n + g^2) - sqrt(n)) weight / lr; "
    "n = n + g^2; (sign(z) lamda1 - z) / ((beta + sqrt(n)) / lr + wd) where |z| > lamda1, else 0. "
    "Source: McMahan et al., 2013.",
    ("z", "n"),
    {**LR, "lamda1": (float, 0.01), "beta": (float, 1.0), **WD, **RESCALE},
)
_RMS_TAIL: Attrs = {**_EPSILON, **WD, **RESCALE, "clip_weights": (float, -1.0)}
RMSPROP = UpdateRule(
    _rmsprop,
    "RMSProp: h = rescale_grad grad + wd weight, clipped like g; n = gamma1 n + (1 - gamma1) h^2; "
    "weight - lr h / sqrt(n + epsilon), clipped to clip_weights unless that is negative. Source: "
    "Tieleman and Hinton, 2012.",
    ("n",),
    {**LR, "gamma1": (float, 0.95), **_RMS_TAIL},
)
RMSPROP_ALEX = UpdateRule(
    _rmsprop_alex,
    "RMSProp, centred and with momentum: h = rescale_grad grad + wd weight, clipped; n and the "
    "state g are moving averages (gamma1) of h^2 and h; "
    "delta = gamma2 delta - lr h / sqrt(n - g^2 + epsilon); weight + delta, clipped to "
    "clip_weights unless that is negative. Source: Graves, 2013.",
    ("n", "g", "delta"),
    {**LR, "gamma1": (float, 0.95), "gamma2": (float, 0.9), **_RMS_TAIL},
)

register_update("adam_update", ADAM)
register_update("ftml_update", FTML)
register_update("ftrl_update", FTRL)
register_update("rmsprop_update", RMSPROP)
register_update("rmspropalex_update", RMSPROP_ALEX)
_RATES = (Floats, REQUIRED)
_MULTI_ADAMW: Attrs = {"lrs": _RATES, **_MEANS, "wds": _RATES, "etas": _RATES, **CLIP, **COUNT}
for _mixed in (False, True):
    _stem = f"{'mp_' if _mixed else ''}adamw_update"
    register_update(f"_{_stem}", ADAMW, mixed=_mixed)
    register_many(f"_multi_{_stem}", ADAMW, _MULTI_ADAMW, mixed=_mixed)


def _infer_group_shape(s: ShapeFacts, p: Params) -> None:
    s.same("weight", "grad", "out0")
    if s["weight"] is not None:
        s.set("history", (s["weight"][0], 1), because="history has one number per row of weight")


@register("_contrib_group_adagrad_update", traits={MUTATES}, infer_shape=_infer_group_shape)
def group_adagrad_update(
    weight: Array,
    grad: Array,
    history: Aux,
    *,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
):
    """Applies AdaGrad per row: history + mean(g^2) of each row; weight - lr g / sqrt(history +
    epsilon).

    weight and grad (N, ...), history (N, 1), which changes in place. Returns the new weight,
    usually into ``out=weight``. g is the gradient times rescale_grad, clipped to [-clip_gradient,
    clip_gradient] unless that is negative. For dense arrays only; not part of graphs.
    """
    g = clip_to_limit(grad * rescale_grad, clip_gradient)
    rows = (weight.shape[0], *(1 for _ in weight.shape[1:]))
    squares = jnp.mean(jnp.square(g).reshape(weight.shape[0], -1), 1)
    history = history + squares.reshape(history.shape)
    return weight - lr * g / jnp.sqrt(history.reshape(rows) + epsilon), history
