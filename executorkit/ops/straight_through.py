"""Operators whose gradient is said to be another than the derivative."""

from __future__ import annotations

import jax
from jax import lax

from ._arith import is_floating
from ._derivative import with_jvp
from ._registry import register
from ._rules import same_shapes
from .elemwise import sign


@register("_contrib_round_ste", infer_shape=same_shapes)
def round_ste(data: jax.Array) -> jax.Array:
    """Every element of data rounded, halves away from zero; the gradient passes unchanged.

    data has any shape and dtype; the result has them too. This is the straight-through
    estimator of Bengio et al., 2013, with which quantised networks are trained.
    """
    away = lax.RoundingMethod.AWAY_FROM_ZERO
    return with_jvp(lambda x: lax.round(x, away) if is_floating(x) else x, lambda t, out, x: t)(
        data
    )


@register("_contrib_sign_ste", infer_shape=same_shapes)
def sign_ste(data: jax.Array) -> jax.Array:
    """The sign of every element of data: 1, 0 or -1; the gradient passes unchanged.

    data has any shape and dtype; the result has them too. See ``round_ste``.
    """
    return with_jvp(sign, lambda t, out, x: t)(data)


@register("_contrib_gradientmultiplier", infer_shape=same_shapes)
def gradientmultiplier(data: jax.Array, *, scalar: float = 1.0, is_int: bool = True) -> jax.Array:
    """data itself, of any shape and dtype; its gradient is multiplied by ``scalar``.

    A negative scalar reverses the gradient (Ganin and Lempitsky, 2015). ``is_int`` has no effect.
    """
    return with_jvp(lambda x: x, lambda t, out, x: t * scalar)(data)
