"""Element-wise operators of one array, of two arrays of one shape, and of any number of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp
from jax import lax

from ._arith import BINARY, BinaryFunction, is_floating, through_float
from ._derivative import with_jvp
from ._layouts import layout_elementwise
from ._registry import register
from ._rules import same_shapes


def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0)


def sign(x: jax.Array) -> jax.Array:
    """1, 0 or -1; 0 for NaN."""
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _rounding(fn: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    return with_jvp(lambda x: fn(x) if is_floating(x) else x, None)


def _rint(x: jax.Array) -> jax.Array:
    below, above = jnp.floor(x), jnp.ceil(x)
    return jnp.where(x - below <= above - x, below, above)


def _digamma(x: jax.Array) -> jax.Array:
    """The digamma function, +inf at 0 (jax gives NaN) as MXNet's gradients of gamma need it."""
    return jnp.where(x == 0, jnp.inf, lax.digamma(x))


_DEGREES = 180 / jnp.pi

#: name: (function, equation, remark)
_UNARY_FUNCTIONS: dict[str, tuple[Callable[[jax.Array], jax.Array], str, str]] = {
    "abs": (
        with_jvp(jnp.abs, lambda t, out, x: t * sign(x)),
        "|x|",
        "The gradient at 0 and at NaN is 0.",
    ),
    "sign": (sign, "1, 0 or -1", "sign(NaN) is 0. The gradient is zero."),
    "round": (
        _rounding(lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
        "the nearest integer",
        "Halves are rounded away from zero. The gradient is zero.",
    ),
    "rint": (
        _rounding(_rint),
        "the nearest integer",
        "Halves are rounded down: 1.5 gives 1, -1.5 gives -2. The gradient is zero.",
    ),
    "ceil": (_rounding(jnp.ceil), "the smallest integer >= x", "The gradient is zero."),
    "floor": (_rounding(jnp.floor), "the largest integer <= x", "The gradient is zero."),
    "trunc": (_rounding(jnp.trunc), "x without its fraction", "The gradient is zero."),
    "fix": (_rounding(jnp.trunc), "x rounded towards zero", "The gradient is zero."),
    "negative": (jnp.negative, "-x", ""),
    "reciprocal": (
        with_jvp(lambda x: 1 / x, lambda t, out, x: -t * (out * out)),
        "1 / x",
        "The gradient at 0 is -inf.",
    ),
    "square": (lambda x: x * x, "x^2", ""),
    "sqrt": (jnp.sqrt, "sqrt(x)", "The gradient at 0 is inf."),
    "rsqrt": (lax.rsqrt, "1 / sqrt(x)", "The gradient at 0 is -inf."),
    "cbrt": (
        with_jvp(jnp.cbrt, lambda t, out, x: t / (3 * out * out)),
        "the cube root of x",
        "The gradient at 0 is inf.",
    ),
    "rcbrt": (
        with_jvp(lambda x: 1 / jnp.cbrt(x), lambda t, out, x: t * (out / (-3 * x))),
        "1 / cbrt(x)",
        "The gradient at 0 is -inf.",
    ),
    "exp": (jnp.exp, "e^x", ""),
    "expm1": (jnp.expm1, "e^x - 1", "Accurate for small x."),
    "log": (jnp.log, "ln x", ""),
    "log10": (jnp.log10, "log10 x", ""),
    "log2": (jnp.log2, "log2 x", ""),
    "log1p": (jnp.log1p, "ln(1 + x)", "Accurate for small x."),
    "sin": (jnp.sin, "sin x", "x is in radians."),
    "cos": (jnp.cos, "cos x", "x is in radians."),
    "tan": (jnp.tan, "tan x", "x is in radians."),
    "arcsin": (jnp.arcsin, "arcsin x", "In radians, from -pi/2 to pi/2."),
    "arccos": (jnp.arccos, "arccos x", "In radians, from 0 to pi."),
    "arctan": (jnp.arctan, "arctan x", "In radians, from -pi/2 to pi/2."),
    "sinh": (jnp.sinh, "sinh x", ""),
    "cosh": (jnp.cosh, "cosh x", ""),
    "tanh": (jnp.tanh, "tanh x", ""),
    "arcsinh": (jnp.arcsinh, "arsinh x", ""),
    "arccosh": (jnp.arccosh, "arcosh x", ""),
    "arctanh": (jnp.arctanh, "artanh x", ""),
    "degrees": (lambda x: x * _DEGREES, "180 x / pi", "Radians to degrees."),
    "radians": (lambda x: x / _DEGREES, "pi x / 180", "Degrees to radians."),
    "erf": (lax.erf, "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", ""),
    "erfinv": (lax.erf_inv, "the y with erf(y) = x", "NaN outside [-1, 1]."),
    "gamma": (
        with_jvp(jax.scipy.special.gamma, lambda t, out, x: t * (out * _digamma(x))),
        "the gamma function of x",
        "",
    ),
    "gammaln": (
        with_jvp(lax.lgamma, lambda t, out, x: t * _digamma(x)),
        "ln |gamma(x)|",
        "The gradient is the digamma function.",
    ),
    "relu": (
        with_jvp(_relu, lambda t, out, x: jnp.where(x > 0, t, 0)),
        "max(x, 0)",
        "The gradient at 0 is 0; at NaN it is 0 too, where MXNet gives NaN.",
    ),
    "sigmoid": (lax.logistic, "1 / (1 + e^-x)", ""),
    "softsign": (
        with_jvp(
            lambda x: x / (1 + jnp.abs(x)),
            lambda t, out, x: t / lax.square(1 + jnp.abs(x)),
        ),
        "x / (1 + |x|)",
        "",
    ),
    "logical_not": (
        lambda x: (x == 0).astype(x.dtype),
        "x == 0",
        "Results are 0 and 1 in the dtype of data; the gradient is zero.",
    ),
}
#: Functions that integers go through unchanged; all others compute integers in float32.
_INTEGER_PRESERVING = {"abs", "sign", "round", "rint", "ceil", "floor", "trunc", "fix", "negative",
                "relu", "logical_not"}  # fmt: skip


def _unary_op(
    name: str, fn: Callable[[jax.Array], jax.Array], equation: str, remark: str
) -> Callable[[jax.Array], jax.Array]:
    def op(data: jax.Array) -> jax.Array:
        return fn(data)

    if name not in _INTEGER_PRESERVING:
        wide = "float64" if name == "erf" else "float32"
        fn = through_float(fn, wide)
        remark = f"{remark} Integers are computed in {wide} and truncated.".lstrip()
    op.__name__ = op.__qualname__ = name
    op.__doc__ = (
        f"{equation[0].upper()}{equation[1:]}, for every element x of data."
        f"\n\ndata has any shape; the result has its shape and dtype. {remark}"
    ).rstrip()
    return op


for _name, _row in _UNARY_FUNCTIONS.items():
    register(_name, infer_shape=same_shapes, last=layout_elementwise)(_unary_op(_name, *_row))

#: stem of the function: names, MXNet's canonical one first
_BINARY_NAMES = {
    "add": ("elemwise_add", "_Plus", "_plus", "_add"),
    "sub": ("elemwise_sub", "_Minus", "_minus", "_sub"),
    "mul": ("elemwise_mul", "_Mul", "_mul"),
    "div": ("elemwise_div", "_Div", "_div"),
    "mod": ("_mod", "_Mod"),
    "power": ("_power", "_Power"),
    "hypot": ("_hypot", "_Hypot"),
    "maximum": ("_maximum", "_Maximum"),
    "minimum": ("_minimum", "_Minimum"),
    "equal": ("_equal", "_Equal"),
    "not_equal": ("_not_equal", "_Not_Equal"),
    "greater": ("_greater", "_Greater"),
    "greater_equal": ("_greater_equal", "_Greater_Equal"),
    "lesser": ("_lesser", "_Lesser"),
    "lesser_equal": ("_lesser_equal", "_Lesser_Equal"),
    "logical_and": ("_logical_and", "_Logical_And"),
    "logical_or": ("_logical_or", "_Logical_Or"),
    "logical_xor": ("_logical_xor", "_Logical_Xor"),
}


def _binary_op(name: str, rule: BinaryFunction) -> Callable[[jax.Array, jax.Array], jax.Array]:
    def op(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
        return rule.fn(lhs, rhs)

    equation, note = rule.words("lhs", "rhs")
    op.__name__ = op.__qualname__ = name
    op.__doc__ = (
        f"{equation}, element by element.\n\n"
        f"lhs and rhs have one shape and one dtype, the result has them too. {note}"
    ).rstrip()
    return op


for _stem, _names in _BINARY_NAMES.items():
    register(*_names, infer_shape=same_shapes, last=layout_elementwise)(
        _binary_op(_names[0], BINARY[_stem])
    )
# Gradient accumulation and sparse-aware variants: for dense arrays they are the plain operators.
register("_grad_add", infer_shape=same_shapes)(_binary_op("_grad_add", BINARY["add"]))
register("_scatter_elemwise_div", infer_shape=same_shapes)(
    _binary_op("_scatter_elemwise_div", BINARY["div"])
)


@register("add_n", "ElementWiseSum", infer_shape=same_shapes, last=layout_elementwise)
def add_n(*args: jax.Array, num_args: int) -> jax.Array:
    """Sum of ``num_args`` arrays of one shape and dtype, element by element."""
    return reduce(jnp.add, args)
