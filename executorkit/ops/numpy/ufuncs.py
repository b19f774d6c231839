"""Element-wise functions of one array, of two that broadcast, and of an array and a number."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax.numpy as jnp
from jax import Array, lax

from ...errors import DTypeError
from ..schema.channels_last import layout_elementwise
from ..schema.inference import (
    Params,
    TypeFacts,
    output_dtype,
    same_dtypes,
    same_shapes,
    shape_of_data,
)
from ..schema.operator_registry import NUMPY_OPS, lookup, named
from ..schema.traits import TRUNCATES_DERIVATIVE
from ..tensor.binary_arithmetic import (
    BINARY,
    BinaryFunction,
    is_floating,
    scalar_constant,
    through_float,
)
from ..tensor.broadcast import broadcast_op, broadcast_shapes, infer_broadcast_shape
from ..tensor.derivatives import with_jvp
from ..tensor.elemwise import infer_scalar_type
from .promotion import numpy_operator, promote, quotient_type, typed

# -- of one array ----------------------------------------------------------------------------------

#: The functions that ``mx.nd`` has too, by their operators in ``np``.
_SAME = {
    name: name
    for name in (
        "negative", "exp", "expm1", "log", "log10", "log2", "log1p", "sqrt", "square", "cbrt",
        "reciprocal", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
        "arcsinh", "arccosh", "arctanh", "ceil", "floor", "trunc", "fix", "rint", "sign", "degrees",
        "radians",
    )
} | {"absolute": "abs"}  # fmt: skip


def _copied(name: str, original: str) -> None:
    op = lookup(original)
    assert op is not None, original
    NUMPY_OPS[name] = replace(op, name=name, names=(name,))


for _name, _original in _SAME.items():
    _copied(f"_npi_{_name}", _original)
for _name in ("relu", "sigmoid"):
    _copied(f"_npx_{_name}", _name)
_copied("_np_copy", "_copy")
NUMPY_OPS["_npi_abs"] = NUMPY_OPS["_npi_absolute"]

_elementwise = partial(numpy_operator, infer_shape=same_shapes, layout_rule=layout_elementwise)
_of_shape = partial(_elementwise, output_shapes=shape_of_data)


def _floating(fn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: fn(x) if is_floating(x) else jnp.zeros(x.shape, bool)


#: Name: (function to booleans, question).
_PREDICATES: dict[str, tuple[Callable[[Array], Array], str]] = {
    "logical_not": (lambda x: x == 0, "it is 0"),
    "isnan": (_floating(jnp.isnan), "it is NaN"),
    "isinf": (_floating(jnp.isinf), "it is infinite"),
    "isposinf": (_floating(jnp.isposinf), "it is positive infinity"),
    "isneginf": (_floating(jnp.isneginf), "it is negative infinity"),
    "isfinite": (lambda x: jnp.isfinite(x), "it is neither infinite nor NaN"),
}


def _predicate(name: str, fn: Callable[[Array], Array], question: str) -> None:
    def op(x: Array) -> Array:
        return fn(x)

    doc = f"Returns for every element of x whether {question}: bool, of the shape of x."
    register = _of_shape(f"_npi_{name}", infer_type=typed(lambda dtype: "bool"))
    register(named(op, f"_npi_{name}", doc))


for _name, _row in _PREDICATES.items():
    _predicate(_name, *_row)


def _exact_type(name: str, *arrays: Array) -> None:
    for x in arrays:
        if is_floating(x):
            problem = f"{x.dtype.name} is not supported, expected integers or bool"
            raise DTypeError(f"operator {name}", problem)


@_of_shape("_npi_bitwise_not")
def bitwise_not(x: Array) -> Array:
    """Inverts the bits of x, of any shape and an integer type, or the truth of bool."""
    _exact_type("_npi_bitwise_not", x)
    return jnp.invert(x)


@_of_shape("_npi_around")
def around(x: Array, *, decimals: int = 0) -> Array:
    """Rounds x, of any shape, to ``decimals`` digits; halves to even ones, and integers towards 0,
    as in MXNet. The gradient is 0."""
    if not is_floating(x):
        unit = jnp.int64(10 ** max(0, -decimals))
        return x if decimals >= 0 else (lax.div(x.astype("int64"), unit) * unit).astype(x.dtype)
    factor = 10.0**decimals
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    return with_jvp(lambda y: lax.round(y * factor, even) / factor, None)(x)


@_of_shape("_npi_nan_to_num")
def nan_to_num(
    data: Array, *, copy: bool = True, nan: float = 0.0, posinf: float | None = None,
    neginf: float | None = None,
) -> Array:  # fmt: skip
    """Replaces NaN and infinities in data, of any shape, by numbers: infinities by the largest and
    smallest of the type by default. ``copy`` has no effect. Their gradient is 0."""
    return jnp.nan_to_num(data, nan=nan, posinf=posinf, neginf=neginf)


# -- of two ----------------------------------------------------------------------------------------


def _typed_as(
    fn: Callable[[Array, Array], Array], result: Callable[[str, str], str]
) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        dtype = result(a.dtype.name, b.dtype.name)
        return fn(a.astype(dtype), b.astype(dtype))

    return run


def _exact(name: str, fn: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        _exact_type(f"_npi_{name}", a, b)
        return fn(a, b)

    return run


def _inexact(name: str, fn: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        if a.ndim and b.ndim and not is_floating(a):
            problem = f"{a.dtype.name} is not supported, expected floating numbers"
            raise DTypeError(f"operator _npi_{name}", problem)
        return through_float(fn)(a, b)

    return run


_ldexp = with_jvp(
    through_float(lambda a, b: a * jnp.exp2(b)),
    lambda t, out, a, b: t * jnp.exp2(b),
    lambda t, out, a, b: t * (out * jnp.log(2.0).astype(out.dtype)),
)
_copysign = with_jvp(
    through_float(jnp.copysign),
    lambda t, out, a, b: t * jnp.where((a >= 0) == (b >= 0), 1, -1).astype(t.dtype),
    None,
)


#: Types of results: the rule for two arrays, and whether numbers are compared.
_SUMS = typed(promote)
_QUOTIENTS = typed(quotient_type)
_BOOLS = output_dtype("bool", "lhs", "rhs")

#: Name: (function, equation, rule of types, whether the reflected form has an operator).
_FUNCTIONS = {
    "add": (_typed_as(BINARY["add"].fn, promote), "{a} + {b}", _SUMS, False),
    "subtract": (_typed_as(BINARY["sub"].fn, promote), "{a} - {b}", _SUMS, True),
    "multiply": (_typed_as(BINARY["mul"].fn, promote), "{a} * {b}", _SUMS, False),
    "true_divide": (
        _typed_as(BINARY["div"].fn, quotient_type), "{a} / {b}, floating", _QUOTIENTS, True,
    ),
    "mod": (_typed_as(BINARY["mod"].fn, promote), "{a} mod {b}", _SUMS, True),
    "power": (_typed_as(BINARY["power"].fn, promote), "{a} ^ {b}", _SUMS, True),
    "copysign": (_copysign, "|{a}| with the sign of {b}", same_dtypes, True),
    "arctan2": (
        _inexact("arctan2", jnp.arctan2), "the angle of the point ({b}, {a})", same_dtypes, True,
    ),
    "hypot": (_inexact("hypot", BINARY["hypot"].fn), "sqrt({a}^2 + {b}^2)", same_dtypes, False),
    "ldexp": (_ldexp, "{a} * 2^{b}", same_dtypes, True),
    "lcm": (
        _exact("lcm", lambda a, b: jnp.lcm(a, b) if a.dtype != bool else a & b),
        "the least common multiple of {a} and {b}", same_dtypes, False,
    ),
    "bitwise_and": (
        _exact("bitwise_and", jnp.bitwise_and), "the bits in {a} and {b}", same_dtypes, False,
    ),
    "bitwise_or": (
        _exact("bitwise_or", jnp.bitwise_or), "the bits in {a} or {b}", same_dtypes, False,
    ),
    "bitwise_xor": (
        _exact("bitwise_xor", jnp.bitwise_xor), "the bits in one of {a}, {b}", same_dtypes, False,
    ),
    "equal": (lax.eq, "{a} == {b}", _BOOLS, False),
    "not_equal": (lax.ne, "{a} != {b}", _BOOLS, False),
    "greater": (lax.gt, "{a} > {b}", _BOOLS, False),
    "greater_equal": (lax.ge, "{a} >= {b}", _BOOLS, False),
    "less": (lax.lt, "{a} < {b}", _BOOLS, False),
    "less_equal": (lax.le, "{a} <= {b}", _BOOLS, False),
}  # fmt: skip
#: Operators on booleans that leave them booleans when the other operand is a number.
_KEEPS_BOOL = frozenset({"lcm", "bitwise_and", "bitwise_or", "bitwise_xor"})


def _scalar_types(name: str, rule: object) -> Callable[[TypeFacts, Params], None]:
    def infer(t: TypeFacts, p: Params) -> None:
        if rule is _BOOLS:
            t.set("out0", "bool")
        elif rule is _QUOTIENTS and t["data"] is not None:
            t.set("out0", quotient_type(t["data"], t["data"]))
        elif t["data"] == "bool" and name not in _KEEPS_BOOL:
            t.set("out0", "int64" if p.is_int else "float64")
        else:
            infer_scalar_type(t, p)

    return infer


def _scalar_op(name: str, row: BinaryFunction, first: bool, rule: object) -> Callable[..., Array]:
    own_name = f"_npi_{'r' if first else ''}{name}_scalar"

    def op(data: Array, *, scalar: float = 1.0, is_int: bool = True) -> Array:
        if rule is _QUOTIENTS:
            data = data.astype(quotient_type(data.dtype.name, data.dtype.name))
        elif rule is not _BOOLS and not is_floating(data):
            if not is_int:
                data = data.astype("float64")
            elif data.dtype == bool and name not in _KEEPS_BOOL:
                data = data.astype("int64")
        constant = scalar_constant(scalar, data.dtype)
        if data.ndim and rule is _BOOLS:
            constant = jnp.broadcast_to(constant, data.shape)
        return row.fn(constant, data) if first else row.fn(data, constant)

    equation, _ = row.words(*(("scalar", "x") if first else ("x", "scalar")))
    doc = (
        f"Computes {equation}, for every element x of data.\n\n"
        "data has any shape; the result has its shape. scalar is converted to data's dtype first; "
        "bool counts as int64."
    )
    return named(op, own_name, doc)


def _register(name: str, fn: Callable[..., Array], equation: str, rule: object, back: bool) -> None:
    row = BinaryFunction(fn, equation, "", frozenset())
    traits = {TRUNCATES_DERIVATIVE} if rule in (_SUMS, same_dtypes) and name != "mod" else set()
    numpy_operator(
        f"_npi_{name}",
        infer_shape=infer_broadcast_shape,
        output_shapes=broadcast_shapes,
        infer_type=rule,  # type: ignore[arg-type]
        layout_rule=layout_elementwise,
        traits=traits,
    )(broadcast_op(f"_npi_{name}", row))
    if name == "hypot":  # mx.nd's operator serves numbers
        return
    for first in (False, True)[: 1 + back]:
        op = _scalar_op(name, row, first, rule)
        _of_shape(op.__name__, infer_type=_scalar_types(name, rule), traits=traits)(op)


for _name, _row in _FUNCTIONS.items():
    _register(_name, *_row)
