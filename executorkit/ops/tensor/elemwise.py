"""Element-wise operators of one array, of an array and a number, and of arrays of one shape.

Several gradients are MXNet's and not the derivative: at ties and kinks, and by definition for the
straight-through estimators and ``gradientmultiplier``.
"""

import math
from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..schema.attrs import Count, Tuning
from ..schema.channels_last import layout_elementwise
from ..schema.inference import Params, TypeFacts, same_shapes, shape_of_data, shape_of_inputs
from ..schema.operator_registry import named, register
from ..schema.traits import NEEDS_NUMBERS, TRUNCATES_DERIVATIVE
from .binary_arithmetic import (
    BINARY,
    BinaryFunction,
    convert,
    is_floating,
    scalar_constant,
    scalar_number,
    through_float,
    where,
)
from .derivatives import with_jvp


def _relu(x: Array) -> Array:
    return lax.max(x, lax.full_like(x, 0))


def sign(x: Array) -> Array:
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _rounding(fn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return with_jvp(lambda x: fn(x) if is_floating(x) else x, None)


def _rint(x: Array) -> Array:
    below, above = jnp.floor(x), jnp.ceil(x)
    return jnp.where(x - below <= above - x, below, above)


def _gamma(x: Array) -> Array:
    return jax.scipy.special.gamma(x)  # which JAX imports when it is looked up


def _digamma(x: Array) -> Array:
    # At 0, -1, ... float64's largest number, infinite in other types, as MXNet's gradients need it
    # (JAX gives NaN).
    pole = float(jnp.finfo(x.dtype).max) if x.dtype == jnp.float64 else jnp.inf
    return jnp.where((x <= 0) & (x == lax.floor(x)), pole, lax.digamma(x))


#: x / (1 + |x|); the gradient is 0 at infinities, where the quotient's is NaN.
softsign = with_jvp(lambda x: x / (1 + jnp.abs(x)), lambda t, _, x: t / lax.square(1 + jnp.abs(x)))


_DEGREES = 180 / jnp.pi

#: Operator name: (function, equation, remark).
_UNARY_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], str, str]] = {
    "abs": (with_jvp(jnp.abs, lambda t, out, x: t * sign(x)), "|x|",
        "The gradient at 0 and at NaN is 0."),
    "sign": (sign, "1, 0 or -1", "sign(NaN) is 0. The gradient is zero."),
    "round": (_rounding(lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
        "the nearest integer", "Halves are rounded away from zero. The gradient is zero."),
    "rint": (_rounding(_rint), "the nearest integer",
        "Halves are rounded down: 1.5 gives 1, -1.5 gives -2. The gradient is zero."),
    "ceil": (_rounding(jnp.ceil), "the smallest integer >= x", "The gradient is zero."),
    "floor": (_rounding(jnp.floor), "the largest integer <= x", "The gradient is zero."),
    "trunc": (_rounding(jnp.trunc), "x without its fraction", "The gradient is zero."),
    "fix": (_rounding(jnp.trunc), "x rounded towards zero", "The gradient is zero."),
    "negative": (lax.neg, "-x", ""),
    "reciprocal": (with_jvp(lambda x: 1 / x, lambda t, out, x: -t * (out * out)), "1 / x",
        "The gradient at 0 is -inf."),
    "square": (lambda x: x * x, "x^2", ""),
    "sqrt": (lax.sqrt, "sqrt(x)", "The gradient at 0 is inf."),
    "rsqrt": (lax.rsqrt, "1 / sqrt(x)", "The gradient at 0 is -inf."),
    "cbrt": (with_jvp(lax.cbrt, lambda t, out, x: t / (3 * out * out)), "the cube root of x",
        "The gradient at 0 is inf."),
    "rcbrt": (with_jvp(lambda x: 1 / lax.cbrt(x), lambda t, out, x: t * (out / (-3 * x))),
        "1 / cbrt(x)", "The gradient at 0 is -inf."),
    "exp": (lax.exp, "e^x", ""),
    "expm1": (lax.expm1, "e^x - 1", "Accurate for small x."),
    "log": (lax.log, "ln x", ""),
    "log10": (jnp.log10, "log10 x", ""),
    "log2": (jnp.log2, "log2 x", ""),
    "log1p": (lax.log1p, "ln(1 + x)", "Accurate for small x."),
    "sin": (lax.sin, "sin x", "x is in radians."),
    "cos": (lax.cos, "cos x", "x is in radians."),
    "tan": (lax.tan, "tan x", "x is in radians."),
    "arcsin": (lax.asin, "arcsin x", "In radians, from -pi/2 to pi/2."),
    "arccos": (lax.acos, "arccos x", "In radians, from 0 to pi."),
    "arctan": (lax.atan, "arctan x", "In radians, from -pi/2 to pi/2."),
    "sinh": (lax.sinh, "sinh x", ""),
    "cosh": (lax.cosh, "cosh x", ""),
    "tanh": (lax.tanh, "tanh x", ""),
    "arcsinh": (lax.asinh, "arsinh x", ""),
    "arccosh": (jnp.arccosh, "arcosh x", ""),
    "arctanh": (lax.atanh, "artanh x", ""),
    "degrees": (lambda x: x * _DEGREES, "180 x / pi", "Radians to degrees."),
    "radians": (lambda x: x / _DEGREES, "pi x / 180", "Degrees to radians."),
    "erf": (lax.erf, "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", ""),
    "erfinv": (lax.erf_inv, "the y with erf(y) = x", "NaN outside [-1, 1]."),
    "gamma": (with_jvp(_gamma, lambda t, out, x: t * (out * _digamma(x))),
        "the gamma function of x", ""),
    "gammaln": (with_jvp(lax.lgamma, lambda t, out, x: t * _digamma(x)), "ln |gamma(x)|",
        "The gradient is the digamma function."),
    "relu": (with_jvp(_relu, lambda t, out, x: t * where(x > 0, 1, where(x <= 0, 0, x))),
        "max(x, 0)",
        "The gradient at 0 is 0, at NaN it is NaN."),
    "sigmoid": (lax.logistic, "1 / (1 + e^-x)", ""),
    "softsign": (softsign, "x / (1 + |x|)", ""),
    "logical_not": (lambda x: (x == 0).astype(x.dtype), "x == 0",
        "Results are 0 and 1 in the dtype of data; the gradient is zero."),
}  # fmt: skip
#: Functions that compute integers as integers; all others compute them in float32.
_INTEGER_PRESERVING = {"abs", "sign", "round", "rint", "ceil", "floor", "trunc", "fix", "negative",
                "relu", "logical_not"}  # fmt: skip


def _unary_op(
    name: str, fn: Callable[[Array], Array], equation: str, remark: str
) -> Callable[[Array], Array]:
    def op(data: Array) -> Array:
        return fn(data)

    if name not in _INTEGER_PRESERVING:
        wide = "float64" if name == "erf" else "float32"
        fn = through_float(fn, wide)
        remark = f"{remark} Integers are computed in {wide} and truncated.".lstrip()
    doc = (
        f"{equation[0].upper()}{equation[1:]}, for every element x of data."
        f"\n\ndata has any shape; the result has its shape and dtype. {remark}"
    )
    return named(op, name, doc)


for _name, _row in _UNARY_FUNCTIONS.items():
    register(
        _name, infer_shape=same_shapes, output_shapes=shape_of_data,
        layout_rule=layout_elementwise, traits={TRUNCATES_DERIVATIVE},
        kind="act" if _name in ("relu", "sigmoid", "tanh") else None,
    )(_unary_op(_name, *_row))  # fmt: skip

#: Stem of the function: operator names, MXNet's canonical one first.
_BINARY_NAMES = {
    "add": ("elemwise_add", "_Plus", "_plus", "_add"),
    "sub": ("elemwise_sub", "_Minus", "_minus", "_sub"), "mul": ("elemwise_mul", "_Mul", "_mul"),
    "div": ("elemwise_div", "_Div", "_div"), "mod": ("_mod", "_Mod"), "power": ("_power", "_Power"),
    "hypot": ("_hypot", "_Hypot"), "maximum": ("_maximum", "_Maximum"),
    "minimum": ("_minimum", "_Minimum"), "equal": ("_equal", "_Equal"),
    "not_equal": ("_not_equal", "_Not_Equal"), "greater": ("_greater", "_Greater"),
    "greater_equal": ("_greater_equal", "_Greater_Equal"), "lesser": ("_lesser", "_Lesser"),
    "lesser_equal": ("_lesser_equal", "_Lesser_Equal"),
    "logical_and": ("_logical_and", "_Logical_And"), "logical_or": ("_logical_or", "_Logical_Or"),
    "logical_xor": ("_logical_xor", "_Logical_Xor"),
}  # fmt: skip


def _binary_op(name: str, rule: BinaryFunction) -> Callable[[Array, Array], Array]:
    def op(lhs: Array, rhs: Array) -> Array:
        return rule.fn(lhs, rhs)

    equation, note = rule.words("lhs", "rhs")
    doc = (
        f"{equation}, element by element.\n\n"
        f"lhs and rhs have one shape and one dtype, the result has them too. {note}"
    )
    return named(op, name, doc)


for _stem, _names in _BINARY_NAMES.items():
    register(
        *_names, infer_shape=same_shapes, output_shapes=shape_of_inputs,
        layout_rule=layout_elementwise, traits=BINARY[_stem].traits,
    )(_binary_op(_names[0], BINARY[_stem]))  # fmt: skip
# Gradient accumulation and sparse-aware variants: for dense arrays they are the plain operators.
register("_grad_add", infer_shape=same_shapes)(_binary_op("_grad_add", BINARY["add"]))
register("_scatter_elemwise_div", infer_shape=same_shapes)(
    _binary_op("_scatter_elemwise_div", BINARY["div"])
)


@register(
    "add_n", "ElementWiseSum", infer_shape=same_shapes, output_shapes=shape_of_inputs,
    layout_rule=layout_elementwise,
)  # fmt: skip
def add_n(*args: Array, num_args: Count) -> Array:
    """Adds ``num_args`` arrays of one shape and dtype, element by element."""
    return reduce(BINARY["add"].fn, args)


#: (Stem of the function, True if the scalar is its first argument): operator names, MXNet's
#: canonical one first.
_SCALAR_NAMES = {
    ("add", False): ("_plus_scalar", "_PlusScalar"),
    ("sub", False): ("_minus_scalar", "_MinusScalar"),
    ("sub", True): ("_rminus_scalar", "_RMinusScalar"),
    ("mul", False): ("_mul_scalar", "_MulScalar"),
    ("div", False): ("_div_scalar", "_DivScalar"),
    ("div", True): ("_rdiv_scalar", "_RDivScalar"),
    ("mod", False): ("_mod_scalar", "_ModScalar"),
    ("mod", True): ("_rmod_scalar", "_RModScalar"),
    ("power", False): ("_power_scalar", "_PowerScalar"),
    ("power", True): ("_rpower_scalar", "_RPowerScalar"),
    ("hypot", False): ("_hypot_scalar", "_HypotScalar"),
    ("maximum", False): ("_maximum_scalar", "_MaximumScalar"),
    ("minimum", False): ("_minimum_scalar", "_MinimumScalar"),
    ("equal", False): ("_equal_scalar", "_EqualScalar"),
    ("not_equal", False): ("_not_equal_scalar", "_NotEqualScalar"),
    ("greater", False): ("_greater_scalar", "_GreaterScalar"),
    ("greater_equal", False): ("_greater_equal_scalar", "_GreaterEqualScalar"),
    ("lesser", False): ("_lesser_scalar", "_LesserScalar"),
    ("lesser_equal", False): ("_lesser_equal_scalar", "_LesserEqualScalar"),
    ("logical_and", False): ("_logical_and_scalar", "_LogicalAndScalar"),
    ("logical_or", False): ("_logical_or_scalar", "_LogicalOrScalar"),
    ("logical_xor", False): ("_logical_xor_scalar", "_LogicalXorScalar"),
}


def infer_scalar_type(t: TypeFacts, p: Params) -> None:
    if t["data"] == "bool" or (t["data"] is not None and not p.is_int):
        number = "int64" if p.is_int else "float64"
        t.set("out0", t["data"] if "float" in t["data"] else number)
    elif p.is_int:
        t.same()
    else:
        t.set("data", t["out0"])


def scalar_op(name: str, rule: BinaryFunction, first: bool) -> Callable[..., Array]:
    def op(data: Array, *, scalar: float = 1.0, is_int: bool = True) -> Array:
        if data.dtype == bool or not (is_int or is_floating(data)):
            data = data.astype("int64" if is_int else "float64")
        constant = scalar_constant(scalar, data.dtype)
        return rule.fn(constant, data) if first else rule.fn(data, constant)

    equation, note = rule.words(*(("scalar", "x") if first else ("x", "scalar")))
    doc = (
        f"{equation}, for every element x of data.\n\n"
        "data has any shape; the result has its shape and dtype, to which scalar is converted "
        f"first. Without ``is_int``, integers are computed and returned in float64. {note}"
    )
    return named(op, name, doc)


for (_stem, _first), _names in _SCALAR_NAMES.items():
    _fn = scalar_op(_names[0], BINARY[_stem], _first)
    # x / scalar divides the head gradient.
    _whole = {TRUNCATES_DERIVATIVE} if (_stem, _first) == ("div", False) else set()
    register(
        *_names,
        infer_shape=same_shapes,
        output_shapes=shape_of_data,
        infer_type=infer_scalar_type,
        layout_rule=layout_elementwise,
        traits=BINARY[_stem].traits - _whole,
    )(_fn)
# Sparse-aware variants: for dense arrays they are the plain operators.
for _name, _stem in (("_scatter_plus_scalar", "add"), ("_scatter_minus_scalar", "sub")):
    register(_name, infer_shape=same_shapes, infer_type=infer_scalar_type)(
        scalar_op(_name, BINARY[_stem], False)
    )


@register("hard_sigmoid", infer_shape=same_shapes, layout_rule=layout_elementwise)
def hard_sigmoid(data: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """Computes min(max(alpha x + beta, 0), 1), for every element x of data.

    data has any shape and a floating dtype; so has the result. The gradient is alpha where the
    result lies strictly between 0 and 1, otherwise 0.
    """

    def line(x: Array) -> Array:
        if x.dtype != jnp.float16:
            return jnp.clip(alpha * x + beta, 0, 1)
        # CPUs with float16 arithmetic fuse product and sum, and then miss the 0 at -beta / alpha.
        product = lax.reduce_precision(np.float32(np.float16(alpha)) * x.astype(jnp.float32), 5, 10)
        return jnp.clip(product + beta, 0, 1).astype(x.dtype)

    return with_jvp(line, lambda t, out, x: jnp.where((out > 0) & (out < 1), alpha * t, 0))(data)


@register(
    "clip", infer_shape=same_shapes, output_shapes=shape_of_data, layout_rule=layout_elementwise
)
def clip(data: Array, *, a_min: float, a_max: float) -> Array:
    """Computes min(max(x, a_min), a_max), for every element x of data.

    data has any shape; shape and dtype stay. Elements are compared with the bounds as float32, so
    that integers may have bounds outside their type; a bound that wins is converted (1.7 is 1 for
    integers). Where a_min > a_max, elements above a_max become a_max, all others a_min. The
    gradient passes at both bounds and for NaN.
    """
    with np.errstate(over="ignore"):  # a bound that the type does not hold is infinite
        bounds = np.float32(a_min), np.float32(a_max)
        if is_floating(data):
            # NumPy's: JAX's arrays, made outside the functions below, leave a loop's trace.
            low, high = (bound.astype(data.dtype) for bound in bounds)
        else:
            low, high = (convert(jnp.asarray(bound), data.dtype.name) for bound in bounds)

    def outside(x: Array) -> tuple[Array, Array]:
        if is_floating(x):
            return x < low, x > high
        return x.astype("float32") < bounds[0], x.astype("float32") > bounds[1]

    def clipped(x: Array) -> Array:
        if is_floating(x) and a_min <= a_max:
            return lax.clamp(low, x, high)
        below, above = outside(x)
        return jnp.where(above, high, jnp.where(below, low, x))

    def tangent(t: Array, out: Array, x: Array) -> Array:
        return where(lax.bitwise_or(*outside(x)), 0, t)

    return with_jvp(clipped, tangent)(data)


@register("smooth_l1", infer_shape=same_shapes, traits={NEEDS_NUMBERS, TRUNCATES_DERIVATIVE})
def smooth_l1(data: Array, *, scalar: float = 1.0, is_int: Tuning[bool] = True) -> Array:
    """Computes a Huber-like loss of every element x of data, with s = ``scalar``.

    s^2 x^2 / 2 where |x| < 1 / s^2, elsewhere |x| - 1 / (2 s^2). data has any shape; shape and
    dtype stay. The gradient is s^2 x inside and sign(x) outside.
    """
    constant = scalar_number(scalar, data.dtype)
    square = constant * constant
    bound = 1 / square if square else math.inf

    def loss(x: Array) -> Array:
        return jnp.where(jnp.abs(x) > bound, jnp.abs(x) - 0.5 * bound, 0.5 * square * x * x)

    def slope(t: Array, out: Array, x: Array) -> Array:
        return t * jnp.where(jnp.abs(x) > bound, jnp.sign(x), square * x)

    return with_jvp(through_float(loss), slope)(data)


@register("_contrib_quadratic", infer_shape=same_shapes)
def quadratic(data: Array, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Array:
    """Computes a x^2 + b x + c, for every element x of data.

    data has any shape; shape and dtype stay. Integers are computed in float32 and truncated.
    """
    return through_float(lambda x: (a * x + b) * x + c)(data)


@register("_contrib_round_ste", infer_shape=same_shapes)
def round_ste(data: Array) -> Array:
    """Rounds every element of data, halves away from zero; the gradient passes unchanged.

    data has any shape and dtype; so has the result. This is the straight-through estimator of
    Bengio et al., 2013, with which quantised networks are trained.
    """
    away = lax.RoundingMethod.AWAY_FROM_ZERO
    return with_jvp(lambda x: lax.round(x, away) if is_floating(x) else x, lambda t, *_: t)(data)


@register("_contrib_sign_ste", infer_shape=same_shapes)
def sign_ste(data: Array) -> Array:
    """Returns the sign of every element of data: 1, 0 or -1; the gradient passes unchanged.

    data has any shape and dtype; so has the result. See ``round_ste``.
    """
    return with_jvp(sign, lambda t, out, x: t)(data)


@register("_contrib_gradientmultiplier", infer_shape=same_shapes)
def gradientmultiplier(data: Array, *, scalar: float = 1.0, is_int: bool = True) -> Array:
    """Returns data, of any shape and dtype; its gradient is multiplied by ``scalar``.

    A negative scalar reverses the gradient (Ganin and Lempitsky, 2015). ``is_int`` has no effect.
    """
    return with_jvp(lambda x: x, lambda t, out, x: t * scalar)(data)
