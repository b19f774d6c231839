"""Updates by the gradient or its sign, with and without momentum."""

from dataclasses import replace

import jax.numpy as jnp
from jax import Array

from ..schema.attrs import Floats
from ..schema.inference import Params
from .update_common import (
    COUNT,
    LAZY,
    LR,
    REQUIRED,
    RESCALE,
    WD,
    Attrs,
    UpdateRule,
    register_many,
    register_update,
    rescale_and_clip,
)

_MOMENTUM: Attrs = {"momentum": (float, 0.0)}


def _sgd_momentum(p: Params, weight: Array, grad: Array, mom: Array) -> tuple[Array, ...]:
    mom = p.momentum * mom - p.lr * (rescale_and_clip(p, grad) + p.wd * weight)
    return weight + mom, mom


def _nesterov(p: Params, weight: Array, grad: Array, mom: Array) -> tuple[Array, ...]:
    step = p.lr * (rescale_and_clip(p, grad) + p.wd * weight)
    mom = p.momentum * mom - step
    return weight + p.momentum * mom - step, mom


def _nesterov_out_of_place(p: Params, weight: Array, grad: Array, mom: Array) -> tuple[Array, ...]:
    new, _ = _nesterov(p, weight, grad, mom)
    return new, p.momentum * mom - p.lr * (rescale_and_clip(p, grad) + p.wd * new)


def _sign_momentum(p: Params, weight: Array, grad: Array, mom: Array) -> tuple[Array, ...]:
    mom = p.momentum * mom - (1 - p.momentum) * (rescale_and_clip(p, grad) + p.wd * weight)
    return (1 - p.lr * p.wd_lh) * weight + p.lr * jnp.sign(mom), mom


SGD = UpdateRule(
    lambda p, weight, grad: (weight - p.lr * (rescale_and_clip(p, grad) + p.wd * weight),),
    "Stochastic gradient descent: weight - lr (g + wd weight).",
    attrs={**LR, **WD, **RESCALE, **LAZY},
)
SGD_MOMENTUM = UpdateRule(
    _sgd_momentum,
    "Stochastic gradient descent with momentum: mom = momentum mom - lr (g + wd weight), "
    "weight + mom.",
    ("mom",),
    {**LR, **_MOMENTUM, **WD, **RESCALE, **LAZY},
)
_NESTEROV = (
    "Nesterov's accelerated gradient: s = lr (g + wd weight), mom = momentum mom - s, "
    "weight + momentum mom - s. {}he stored momentum includes the decay of the new weight."
)
NESTEROV = UpdateRule(
    _nesterov,
    _NESTEROV.format("With the weight as ``out``, t"),
    ("mom",),
    {**LR, **_MOMENTUM, **WD, **RESCALE},
)
NESTEROV_OUT_OF_PLACE = replace(NESTEROV, step=_nesterov_out_of_place, words=_NESTEROV.format("T"))
SIGN_SGD = UpdateRule(
    lambda p, weight, grad: ((1 - p.lr * p.wd) * weight - p.lr * jnp.sign(grad),),
    "Descent by the sign of the gradient: (1 - lr wd) weight - lr sign(grad). Source: Bernstein "
    "et al., signSGD, 2018.",
    attrs={**LR, **WD, **RESCALE},
)
SIGNUM = UpdateRule(
    _sign_momentum,
    "Descent by the sign of the momentum: mom = momentum mom - (1 - momentum) (g + wd weight), "
    "(1 - lr wd_lh) weight + lr sign(mom). Source: Bernstein et al., signSGD, 2018.",
    ("mom",),
    {**LR, **_MOMENTUM, **WD, **RESCALE, "wd_lh": (float, 0.0)},
)

_RATES: Attrs = {"lrs": (Floats, REQUIRED), "wds": (Floats, REQUIRED)}

for _stem, _update in {"sgd": SGD, "sgd_mom": SGD_MOMENTUM}.items():
    _shared_attrs: Attrs = {**(_MOMENTUM if _update.states else {}), **RESCALE, **COUNT}
    for _mixed in (False, True):
        _name = f"{'mp_' if _mixed else ''}{_stem}_update"
        register_update(_name, _update, mixed=_mixed)
        register_many(f"multi_{_name}", _update, {**_RATES, **_shared_attrs}, mixed=_mixed)
        _name = f"preloaded_multi_{_name}"
        register_many(_name, _update, _shared_attrs, mixed=_mixed, trailing=tuple(_RATES))
register_update("nag_mom_update", NESTEROV, in_place=NESTEROV_OUT_OF_PLACE)
register_update("mp_nag_mom_update", NESTEROV_OUT_OF_PLACE, mixed=True)
register_update("signsgd_update", SIGN_SGD)
register_update("signum_update", SIGNUM)
