"""Functions of one array with attributes, put together from pieces: where do slopes change?"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ._arith import convert, is_floating, through_float
from ._attrs import Tuning
from ._derivative import with_jvp
from ._layouts import layout_elementwise
from ._registry import register
from ._rules import same_shapes


@register("hard_sigmoid", infer_shape=same_shapes, last=layout_elementwise)
def hard_sigmoid(data: jax.Array, *, alpha: float = 0.2, beta: float = 0.5) -> jax.Array:
    """min(max(alpha x + beta, 0), 1), for every element x of data.

    data has any shape and a floating dtype; the result has them too. The gradient is alpha where
    the result lies strictly between 0 and 1, otherwise 0.
    """

    def line(x: jax.Array) -> jax.Array:
        return jnp.clip(alpha * x + beta, 0, 1)

    return with_jvp(line, lambda t, out, x: jnp.where((out > 0) & (out < 1), alpha * t, 0))(data)


@register("clip", infer_shape=same_shapes, last=layout_elementwise)
def clip(data: jax.Array, *, a_min: float, a_max: float) -> jax.Array:
    """min(max(x, a_min), a_max), for every element x of data.

    data has any shape; the result has its shape and dtype. Elements are compared with the bounds as
    float32, so that integers may have bounds that their type does not hold; a bound that wins is
    converted (1.7 is 1 for integers). Where a_min > a_max, what exceeds a_max gives that, all else
    a_min. The gradient passes at both bounds and for NaN.
    """
    with np.errstate(over="ignore"):  # a bound that the type does not hold is infinite
        bounds = np.float32(a_min), np.float32(a_max)
        if is_floating(data):
            low, high = (jnp.asarray(bound.astype(data.dtype)) for bound in bounds)
        else:
            low, high = (convert(jnp.asarray(bound), data.dtype.name) for bound in bounds)

    def outside(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        if is_floating(x):
            return x < low, x > high
        return x.astype("float32") < bounds[0], x.astype("float32") > bounds[1]

    def clipped(x: jax.Array) -> jax.Array:
        if is_floating(x) and a_min <= a_max:
            return jnp.clip(x, low, high)
        below, above = outside(x)
        return jnp.where(above, high, jnp.where(below, low, x))

    return with_jvp(clipped, lambda t, out, x: jnp.where(jnp.logical_or(*outside(x)), 0, t))(data)


@register("smooth_l1", infer_shape=same_shapes)
def smooth_l1(data: jax.Array, *, scalar: float = 1.0, is_int: Tuning[bool] = True) -> jax.Array:
    """Huber-like loss of every element x of data, with s = ``scalar``.

    s^2 x^2 / 2 where |x| < 1 / s^2, elsewhere |x| - 1 / (2 s^2). data has any shape; the result
    has its shape and dtype. The gradient is s^2 x inside and sign(x) outside.
    """
    square = scalar * scalar

    def loss(x: jax.Array) -> jax.Array:
        far = jnp.abs(x) > 1 / square
        return jnp.where(far, jnp.abs(x) - 0.5 / square, 0.5 * square * x * x)

    def slope(t: jax.Array, out: jax.Array, x: jax.Array) -> jax.Array:
        return t * jnp.where(jnp.abs(x) > 1 / square, jnp.sign(x), square * x)

    return with_jvp(through_float(loss), slope)(data)


@register("_contrib_quadratic", infer_shape=same_shapes)
def quadratic(data: jax.Array, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> jax.Array:
    """a x^2 + b x + c, for every element x of data.

    data has any shape; the result has its shape and dtype. Integers are computed in
    float32 and truncated.
    """
    return through_float(lambda x: (a * x + b) * x + c)(data)
