"""Updates whose step depends on the norms of whole layers: LAMB and LARS."""

import jax.numpy as jnp
from jax import Array

from ..schema.attrs import Aux, Floats, Shape
from ..schema.inference import Params, ShapeFacts, TypeFacts, same_shapes
from ..schema.operator_registry import register
from ..schema.traits import MUTATES
from .adaptive_updates import moving_averages
from .update_common import REQUIRED, RESCALE, Attrs, UpdateRule, register_many, rescale_and_clip


def _lamb_direction(p: Params, weight: Array, grad: Array, mean: Array, var: Array):
    mean, var = moving_averages(p, rescale_and_clip(p, grad), mean, var)
    unbiased = mean, var
    if p.bias_correction:
        unbiased = mean / (1 - p.beta1**p.t), var / (1 - p.beta2**p.t)
    return unbiased[0] / (jnp.sqrt(unbiased[1]) + p.epsilon) + p.wd * weight, mean, var


def _layerwise_step(weight: Array, g: Array, r1: Array, r2: Array, p: Params) -> Array:
    r1, r2 = r1.reshape(()).astype(weight.dtype), r2.reshape(()).astype(weight.dtype)
    if p.lower_bound >= 0:
        r1 = jnp.maximum(r1, p.lower_bound)
    if p.upper_bound >= 0:
        r1 = jnp.minimum(r1, p.upper_bound)
    return weight - p.lr * jnp.where((r1 == 0) | (r2 == 0), 1, r1 / r2) * g


def _lamb(p: Params, weight: Array, grad: Array, mean: Array, var: Array):
    g, mean, var = _lamb_direction(p, weight, grad, mean, var)
    r1, r2 = (jnp.sqrt(jnp.sum(jnp.square(x))) for x in (weight, g))
    return _layerwise_step(weight, g, r1, r2, p), mean, var


LAMB = UpdateRule(
    _lamb,
    "LAMB: mean (beta1) and var (beta2) are moving averages of g and g^2, divided by 1 - beta^t "
    "with bias_correction; h = mean / (sqrt(var) + epsilon) + wd weight; "
    "weight - lr |weight| / |h| h, where |weight| is kept within lower_bound and upper_bound "
    "unless they are negative and a ratio with a zero norm is 1. Source: You et al., 2020.",
    ("mean", "var"),
)
_BOUNDS: Attrs = {"lower_bound": (float, -1.0), "upper_bound": (float, -1.0)}
_MULTI: Attrs = {
    "learning_rates": (Floats, REQUIRED),
    "beta1": (float, 0.9),
    "beta2": (float, 0.999),
    "epsilon": (float, 1e-6),
    "wds": (Floats, REQUIRED),
    "rescale_grad": RESCALE["rescale_grad"],
    **_BOUNDS,
    "clip_gradient": RESCALE["clip_gradient"],
    "bias_correction": (bool, True),
    "step_count": (Shape, REQUIRED),
    "num_tensors": (int, 1),
}
register_many("_multi_lamb_update", LAMB, _MULTI, count="num_tensors")
register_many("_multi_mp_lamb_update", LAMB, _MULTI, count="num_tensors", mixed=True)


@register("lamb_update_phase1", traits={MUTATES}, infer_shape=same_shapes)
def lamb_update_phase1(
    weight: Array,
    grad: Array,
    mean: Aux,
    var: Aux,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: int,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
):
    """Computes the first half of LAMB at step t: h = mean / (sqrt(var) + epsilon) + wd weight.

    weight, grad, mean and var have one shape. mean (beta1) and var (beta2), the moving averages of
    g and g^2, change in place; bias_correction divides them by 1 - beta^t in h. g is the
    gradient times rescale_grad, clipped to [-clip_gradient, clip_gradient] unless that is negative.
    Returns h. For dense arrays only; not part of graphs. Source: You et al., 2020.
    """
    return _lamb_direction(Params(locals()), weight, grad, mean, var)


def _infer_mixed_type(t: TypeFacts, p: Params) -> None:
    t.same("weight", "grad")
    t.same("mean", "var", "weight32", "out0")


@register(
    "mp_lamb_update_phase1", traits={MUTATES}, infer_shape=same_shapes, infer_type=_infer_mixed_type
)
def mp_lamb_update_phase1(
    weight: Array,
    grad: Array,
    mean: Aux,
    var: Aux,
    weight32: Array,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: int,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
):
    """Computes ``lamb_update_phase1`` for a half precision weight: from weight32, in float32.

    weight and grad, in half precision, and mean, var, weight32 and the result, in float32, have one
    shape. mean and var change in place. For arrays only.
    """
    return _lamb_direction(Params(locals()), weight32, grad.astype(weight32.dtype), mean, var)


def _infer_phase2_shape(s: ShapeFacts, p: Params) -> None:
    s.same(*(n for n in ("weight", "g", "weight32", "out0") if n in s))


def _infer_phase2_type(t: TypeFacts, p: Params) -> None:
    t.same("weight", "out0")
    t.same("g", "r1", "r2", "weight32")


@register("lamb_update_phase2", traits={MUTATES}, infer_shape=_infer_phase2_shape)
def lamb_update_phase2(
    weight: Array,
    g: Array,
    r1: Array,
    r2: Array,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
):
    """Computes the second half of LAMB: weight - lr r1 / r2 g.

    weight and g, the first half's result, have one shape; r1 and r2, of one element, are their
    norms. r1 is clipped to lower_bound and upper_bound unless they are negative; where a norm is 0
    the ratio is 1. Returns the new weight. For arrays only; not part of graphs.
    """
    return _layerwise_step(weight, g, r1, r2, Params(locals()))


@register(
    "mp_lamb_update_phase2",
    traits={MUTATES},
    infer_shape=_infer_phase2_shape,
    infer_type=_infer_phase2_type,
)
def mp_lamb_update_phase2(
    weight: Array,
    g: Array,
    r1: Array,
    r2: Array,
    weight32: Array,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
):
    """Computes ``lamb_update_phase2`` for a half precision weight with a float32 copy, weight32.

    weight, g and weight32 have one shape, r1 and r2 one element. Returns the new weight, computed
    from weight32 and rounded to weight's dtype; weight32 does not change (neither does it in MXNet:
    the caller updates it). For arrays only.
    """
    return _layerwise_step(weight32, g, r1, r2, Params(locals())).astype(weight.dtype)


@register("multi_lars", infer_shape=same_shapes)
def multi_lars(
    lrs: Array,
    weights_sum_sq: Array,
    grads_sum_sq: Array,
    wds: Array,
    *,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
):
    """Computes learning rates of LARS: lr eta |w| / (rescale_grad |g| + wd |w| + eps) per layer.

    All arrays have one shape: per layer its rate, the sums of squares of its weight and of its
    gradient, and its weight decay. Where one of the norms is 0, lr stays. Source: You et al., 2017.
    """
    weight, grad = jnp.sqrt(weights_sum_sq), jnp.sqrt(grads_sum_sq) * rescale_grad
    scaled = lrs * eta * weight / (grad + wds * weight + eps)
    return jnp.where((weights_sum_sq > 0) & (grads_sum_sq > 0), scaled, lrs)
