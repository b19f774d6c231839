"""Two-argument arithmetic as MXNet does it, shared by element-wise, broadcasting and scalar ops.

Arguments are two arrays of one dtype and one shape, or one of them is 0-dimensional and constant.
Results have the dtype of the arguments, comparisons too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import AttributeValueError
from ..schema.traits import STOPS_INTEGER_GRADIENT, TRUNCATES_DERIVATIVE
from .derivatives import with_jvp


def is_floating(x: Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def widest(x: Array) -> Array:
    """Returns numbers as float64, or as float32 where JAX's float64 is off."""
    return x.astype(jax.dtypes.canonicalize_dtype("float64"))


def convert(x: Array, dtype: str) -> Array:
    """Converts ``x`` to ``dtype``, with x86's results where C leaves the conversion undefined.

    Floating numbers outside int32 (or int64), and NaN, become its smallest number; narrow integers
    are the low bits of an int32. (XLA's own conversion saturates, and converts NaN to 0.)
    """
    target = jnp.dtype(dtype)
    if is_floating(x) and jnp.issubdtype(target, jnp.integer):
        wide = jnp.int64 if target.itemsize == 8 else jnp.int32
        low = float(jnp.iinfo(wide).min)
        x = x.astype("float32") if x.dtype == jnp.float16 else x  # float16 cannot hold the bounds
        x = jnp.where((x >= low) & (x < -low), x, low).astype(wide)
    return x.astype(target)


def through_float(fn: Callable[..., Array], dtype: str = "float32") -> Callable[..., Array]:
    def wrapped(*arrays: Array) -> Array:
        if is_floating(arrays[0]):
            return fn(*arrays)
        return convert(fn(*(a.astype(dtype) for a in arrays)), arrays[0].dtype.name)

    return wrapped


def scalar_number(scalar: float, dtype: np.dtype) -> float:
    """Converts a scalar to an integer array's dtype first: an int32 array plus 1.5 adds 1."""
    if not jnp.issubdtype(dtype, jnp.integer):
        return scalar
    if not math.isfinite(scalar):
        raise AttributeValueError(f"scalar {scalar} has no meaning for {dtype.name} data")
    number, wide = int(scalar), np.int64 if dtype.itemsize == 8 else np.int32
    bounds = np.iinfo(wide)
    number = number if bounds.min <= number <= bounds.max else int(bounds.min)
    return int(np.array(number, wide).astype(dtype))


def scalar_constant(scalar: float, dtype: np.dtype) -> Array:
    return jnp.asarray(scalar_number(scalar, dtype), dtype)


def where(mask: Array, a: Array | float, b: Array | float) -> Array:
    """Selects an array of the mask's shape or a number; traced thrice as fast as ``jnp.where``."""
    one = a if isinstance(a, Array) else b
    assert isinstance(one, Array)
    if one.shape != mask.shape:
        return jnp.where(mask, a, b)
    a, b = (x if isinstance(x, Array) else lax.full_like(one, x) for x in (a, b))
    return lax.select(mask, a, b)


def _by_primitive(
    primitive: Callable[[Array, Array], Array], general: Callable[[Array, Array], Array]
) -> Callable[[Array, Array], Array]:
    # The primitive for numbers of one dtype, not ``jax.numpy``'s function: every new shape is
    # traced, and a function that is jitted itself takes three times as long.
    def run(a: Array, b: Array) -> Array:
        if a.dtype != b.dtype or a.dtype == bool:
            return general(a, b)
        if a.shape != b.shape:
            if a.ndim and b.ndim:
                return general(a, b)
            shape = a.shape or b.shape
            a, b = (x if x.ndim else lax.broadcast_in_dim(x, shape, ()) for x in (a, b))
        return primitive(a, b)

    return run


_divide = _by_primitive(lax.div, jnp.true_divide)


def _div(a: Array, b: Array) -> Array:
    return _divide(a, b) if is_floating(a) else lax.div(*jnp.broadcast_arrays(a, b))


def _mod(a: Array, b: Array) -> Array:
    zero = b == 0
    return jnp.where(zero, 0, jnp.mod(a, jnp.where(zero, 1, b)))


def _compared(
    primitive: Callable[..., Array] | None, general: Callable[..., Array]
) -> Callable[..., Array]:
    fn = general if primitive is None else _by_primitive(primitive, general)
    return lambda a, b: lax.convert_element_type(fn(a, b), a.dtype)


power = with_jvp(
    through_float(jnp.power),
    lambda t, out, a, b: t * (b * jnp.power(a, b - 1)),
    lambda t, out, a, b: t * (out * jnp.log(a)),
)
mod = with_jvp(_mod, lambda t, out, a, b: t, lambda t, out, a, b: t * -jnp.floor(a / b))
hypot = with_jvp(
    through_float(jnp.hypot), lambda t, out, a, b: t * (a / out), lambda t, out, a, b: t * (b / out)
)
maximum = with_jvp(
    _by_primitive(lax.max, jnp.maximum),
    lambda t, out, a, b: where(a >= b, t, 0),
    lambda t, out, a, b: where(a < b, t, 0),
)
minimum = with_jvp(
    _by_primitive(lax.min, jnp.minimum),
    lambda t, out, a, b: where(a <= b, t, 0),
    lambda t, out, a, b: where(a > b, t, 0),
)


@dataclass(frozen=True, slots=True)
class BinaryFunction:
    """A function of two arrays; ``equation`` and ``note`` call them ``{a}`` and ``{b}``."""

    fn: Callable[[Array, Array], Array]
    equation: str
    note: str = ""
    traits: frozenset[str] = frozenset({TRUNCATES_DERIVATIVE})

    def words(self, a: str, b: str) -> tuple[str, str]:
        return self.equation.format(a=a, b=b), self.note.format(a=a, b=b)


_DIVISION = "Integers are divided towards zero."
_POWER = (
    "Integers are raised in float32 and truncated. Gradients are {b} {a}^({b} - 1) and"
    " out log({a}), NaN for {a} < 0 in the latter."
)
_MOD = (
    "The remainder has the sign of {b} and is 0 where {b} is 0, for floating numbers too."
    " Gradients are 1 and -floor({a} / {b}), of integers 0."
)
_HYPOT = (
    "Integers are computed in float32 and truncated. Gradients are {a} / out and {b} / out, NaN"
    " where both are 0."
)
_TIE = "Where the two are equal, {a} gets the whole gradient and {b} none."
_COMPARISON = "Results are 0 and 1 in the dtype of the inputs; the gradient is zero."

#: Two-argument functions by the stem of their operators' names.
BINARY = {
    "add": BinaryFunction(_by_primitive(lax.add, jnp.add), "{a} + {b}"),
    "sub": BinaryFunction(_by_primitive(lax.sub, jnp.subtract), "{a} - {b}"),
    "mul": BinaryFunction(_by_primitive(lax.mul, jnp.multiply), "{a} * {b}"),
    "div": BinaryFunction(_div, "{a} / {b}", _DIVISION),
    "mod": BinaryFunction(mod, "{a} mod {b}", _MOD, frozenset({STOPS_INTEGER_GRADIENT})),
    "power": BinaryFunction(power, "{a} ^ {b}", _POWER),
    "hypot": BinaryFunction(hypot, "sqrt({a}^2 + {b}^2)", _HYPOT),
    "maximum": BinaryFunction(maximum, "max({a}, {b})", _TIE),
    "minimum": BinaryFunction(minimum, "min({a}, {b})", _TIE),
    "equal": BinaryFunction(_compared(lax.eq, jnp.equal), "{a} == {b}", _COMPARISON),
    "not_equal": BinaryFunction(_compared(lax.ne, jnp.not_equal), "{a} != {b}", _COMPARISON),
    "greater": BinaryFunction(_compared(lax.gt, jnp.greater), "{a} > {b}", _COMPARISON),
    "greater_equal": BinaryFunction(
        _compared(lax.ge, jnp.greater_equal), "{a} >= {b}", _COMPARISON
    ),
    "lesser": BinaryFunction(_compared(lax.lt, jnp.less), "{a} < {b}", _COMPARISON),
    "lesser_equal": BinaryFunction(_compared(lax.le, jnp.less_equal), "{a} <= {b}", _COMPARISON),
    "logical_and": BinaryFunction(
        _compared(None, jnp.logical_and), "{a} != 0 and {b} != 0", _COMPARISON
    ),
    "logical_or": BinaryFunction(
        _compared(None, jnp.logical_or), "{a} != 0 or {b} != 0", _COMPARISON
    ),
    "logical_xor": BinaryFunction(
        _compared(None, jnp.logical_xor), "({a} != 0) != ({b} != 0)", _COMPARISON
    ),
}
