"""Element-wise operators, with one array, two arrays, or an array and a number."""

import math
from collections.abc import Callable

import numpy as np

from .._correspondence import ARITHMETIC, COMPARISONS, EXTREMES, LOGIC, UNARY
from .._draft import Length, Value
from .._node_writer import NodeWriter, Operand, translates

Unary = Callable[[NodeWriter, Operand], str]
#: A function of two operands of an element type.
Binary = Callable[[NodeWriter, Operand, Operand, str], str]


def _in_float(w: NodeWriter, function: Unary) -> Operand:
    # Integers are computed in floating numbers, and the results cut off.
    if w.data.is_float:
        return function(w, w.data)
    return w.cast(function(w, w.cast(w.data, "float32")), w.output.dtype)


#: Operators that are one node of ONNX.
_ONE_NODE = {**UNARY, "_contrib_sign_ste": "Sign"}
#: Those of them that ONNX has for integers too.
_FOR_INTEGERS = {"abs", "negative", "sign", "relu"}
#: Operators that do nothing to integers.
_ROUNDINGS = {"ceil", "floor", "rint", "round", "fix", "trunc", "_contrib_round_ste"}


@translates(*_ONE_NODE)
def _one_node(w: NodeWriter) -> Operand:
    op_type = _ONE_NODE[w.operator]
    if not w.data.is_float and w.operator in _ROUNDINGS:
        return w.data
    if w.operator in _FOR_INTEGERS and not w.data.dtype.startswith("uint"):
        return w.op(op_type, w.data)
    if w.operator == "negative" and not w.data.is_float:
        return w.op("Sub", w.scalar(0), w.data)
    return _in_float(w, lambda w, x: w.op(op_type, x))


def _scaled(factor: float) -> Unary:
    return lambda w, x: w.op("Mul", x, _number(w, factor))


def _number(w: NodeWriter, value: float) -> str:
    return w.scalar(value, w.data.dtype if w.data.is_float else "float32")


def _toward_zero(w: NodeWriter, x: Operand) -> str:
    return w.op("Mul", w.op("Sign", x), w.op("Floor", w.op("Abs", x)))


def _half_away(w: NodeWriter, x: Operand) -> str:
    raised = w.op("Add", w.op("Abs", x), _number(w, 0.5))
    return w.op("Mul", w.op("Sign", x), w.op("Floor", raised))


def cube_root(w: NodeWriter, x: Operand) -> str:
    root = w.op("Pow", w.op("Abs", x), _number(w, 1 / 3))
    return w.op("Mul", w.op("Sign", x), root)


_FUNCTIONS: dict[str, Unary] = {
    "square": lambda w, x: w.op("Mul", x, x),
    "rsqrt": lambda w, x: w.op("Reciprocal", w.op("Sqrt", x)),
    "cbrt": cube_root,
    "rcbrt": lambda w, x: w.op("Reciprocal", cube_root(w, x)),
    "log2": lambda w, x: w.op("Div", w.op("Log", x), _number(w, math.log(2))),
    "log10": lambda w, x: w.op("Div", w.op("Log", x), _number(w, math.log(10))),
    "log1p": lambda w, x: w.op("Log", w.op("Add", x, _number(w, 1))),
    "expm1": lambda w, x: w.op("Sub", w.op("Exp", x), _number(w, 1)),
    "radians": _scaled(math.pi / 180),
    "degrees": _scaled(180 / math.pi),
    "fix": _toward_zero,
    "trunc": _toward_zero,
    "round": _half_away,
    "_contrib_round_ste": _half_away,
    "rint": lambda w, x: w.op("Ceil", w.op("Sub", x, _number(w, 0.5))),
}


@translates(*_FUNCTIONS)
def _function(w: NodeWriter) -> Operand:
    if not w.data.is_float and w.operator in _ROUNDINGS:
        return w.data
    if w.operator == "square":
        return w.op("Mul", w.data, w.data)
    return _in_float(w, _FUNCTIONS[w.operator])


@translates("smooth_l1")
def _smooth_l1(w: NodeWriter) -> Operand:
    square = w["scalar"] ** 2

    def loss(w: NodeWriter, x: Operand) -> str:
        size = w.op("Abs", x)
        inner = w.op("Mul", w.op("Mul", x, x), _number(w, 0.5 * square))
        if not square:
            return inner
        outer = w.op("Sub", size, _number(w, 0.5 / square))
        return w.op("Where", w.op("Greater", size, _number(w, 1 / square)), outer, inner)

    return _in_float(w, loss)


@translates("clip")
def _clip(w: NodeWriter) -> Operand:
    low, high = w["a_min"], w["a_max"]
    if w.data.is_float and low <= high:
        return w.op("Clip", w.data, w.scalar(low), w.scalar(high))
    wide = w.cast(w.data, "float32")
    bounds = [w.array(np.array(bound, np.float32)) for bound in (low, high)]
    below, above = w.op("Less", wide, bounds[0]), w.op("Greater", wide, bounds[1])
    first, last = (w.cast(bound, w.data.dtype) for bound in bounds)
    return w.op("Where", above, last, w.op("Where", below, first, w.data))


@translates("_contrib_quadratic")
def _quadratic(w: NodeWriter) -> Operand:
    def polynomial(w: NodeWriter, x: Operand) -> str:
        inner = w.op("Add", w.op("Mul", x, _number(w, w["a"])), _number(w, w["b"]))
        return w.op("Add", w.op("Mul", inner, x), _number(w, w["c"]))

    return _in_float(w, polynomial)


@translates("_contrib_div_sqrt_dim")
def _div_sqrt_dim(w: NodeWriter) -> str:
    length = w.length(w.data, w.data.rank - 1)
    if isinstance(length, int):
        return w.op("Div", w.data, w.scalar(math.sqrt(length)))
    return w.op("Div", w.data, w.op("Sqrt", w.cast(length, w.data.dtype)))


@translates("Cast", "amp_cast")
def _cast(w: NodeWriter) -> Operand:
    target = np.dtype(w.output.dtype)
    if w.operator == "amp_cast" and w.data.dtype == "float32" and target.kind in "iu":
        limits = np.iinfo(target)
        bounds = [w.scalar(float(limit)) for limit in (limits.min, limits.max)]
        return w.cast(w.op("Clip", w.op("Round", w.data), *bounds), target.name)
    return w.cast(w.data, w.output.dtype)


@translates("add_n")
def _add_n(w: NodeWriter) -> str:
    if w.data.is_float and w.data.dtype != "bfloat16":
        return w.op("Sum", *w.inputs)
    total: Operand = w.data
    for term in w.inputs[1:]:
        total = w.op("Add", total, term)
    return total if isinstance(total, str) else total.name


# Two arrays


def _binary(op_type: str) -> Binary:
    return lambda w, a, b, dtype: w.op(op_type, a, b)


def _modulo(w: NodeWriter, a: Operand, b: Operand, dtype: str) -> str:
    zero = w.scalar(0, dtype)
    is_zero = w.op("Equal", b, zero)
    divisor = w.op("Where", is_zero, w.scalar(1, dtype), b)
    if dtype.startswith("float"):
        remainder = w.op("Mod", a, divisor, fmod=1)
        signs_differ = w.op("Less", w.op("Mul", remainder, divisor), zero)
        remainder = w.op("Where", signs_differ, w.op("Add", remainder, divisor), remainder)
    else:
        remainder = w.op("Mod", a, divisor)
    return w.op("Where", is_zero, zero, remainder)


def _hypotenuse(w: NodeWriter, a: Operand, b: Operand, dtype: str) -> str:
    is_float = dtype.startswith("float")
    x, y = (a, b) if is_float else (w.op("Cast", v, to=1) for v in (a, b))
    length = w.op("Sqrt", w.op("Add", w.op("Mul", x, x), w.op("Mul", y, y)))
    return length if is_float else w.cast(length, dtype)


def _compare(op_type: str) -> Binary:
    return lambda w, a, b, dtype: w.cast(w.op(op_type, a, b), w.output.dtype)


def _logical(op_type: str) -> Binary:
    def apply(w: NodeWriter, a: Operand, b: Operand, dtype: str) -> str:
        return w.cast(w.op(op_type, w.op("Cast", a, to=9), w.op("Cast", b, to=9)), w.output.dtype)

    return apply


_ARITHMETIC: dict[str, Binary] = {
    **{name: _binary(op_type) for name, op_type in (ARITHMETIC | EXTREMES).items()},
    **{name: _compare(op_type) for name, op_type in COMPARISONS.items()},
    **{name: _logical(op_type) for name, op_type in LOGIC.items()},
    "mod": _modulo,
    "hypot": _hypotenuse,
    "not_equal": lambda w, a, b, _: w.cast(w.op("Not", w.op("Equal", a, b)), w.output.dtype),
}
#: Those that have other names for two arrays of one shape.
_BASIC = ("add", "sub", "mul", "div")
#: Functions of two arrays by operator: ``broadcast_add``, ``_maximum``, ``elemwise_add``, ...
_BINARY: dict[str, Binary] = {
    **{f"broadcast_{name}": function for name, function in _ARITHMETIC.items()},
    **{f"_{name}": _ARITHMETIC[name] for name in _ARITHMETIC if name not in _BASIC},
    **{f"elemwise_{name}": _ARITHMETIC[name] for name in _BASIC},
    "_grad_add": _binary("Add"),
    "_scatter_elemwise_div": _binary("Div"),
}  # fmt: skip


@translates(*_BINARY)
def _two_arrays(w: NodeWriter) -> str:
    left, right = w.inputs
    wide = [v.dtype for v in w.inputs if v.is_float] or [left.dtype]
    common = left.dtype if left.dtype == right.dtype else wide[0]
    return _BINARY[w.operator](w, w.cast(left, common), w.cast(right, common), common)


# An array and a number


def _reversed(function: Binary) -> Binary:
    return lambda w, a, b, dtype: function(w, b, a, dtype)


_SCALAR: dict[str, Binary] = {
    "_plus_scalar": _binary("Add"), "_minus_scalar": _binary("Sub"), "_mul_scalar": _binary("Mul"),
    "_div_scalar": _binary("Div"), "_scatter_plus_scalar": _binary("Add"),
    "_scatter_minus_scalar": _binary("Sub"),
    "_rminus_scalar": _reversed(_binary("Sub")), "_rdiv_scalar": _reversed(_binary("Div")),
    "_rmod_scalar": _reversed(_modulo), "_rpower_scalar": _reversed(_binary("Pow")),
    **{
        f"_{name}_scalar": _ARITHMETIC[name]
        for name in _ARITHMETIC
        if name not in _BASIC
    },
}  # fmt: skip


@translates(*_SCALAR)
def _with_scalar(w: NodeWriter) -> str:
    function, number = _SCALAR[w.operator], w["scalar"]
    dtype = w.output.dtype if w.output.is_float else w.data.dtype
    return function(w, w.cast(w.data, dtype), w.scalar(number, dtype), dtype)


translates("logical_not")(lambda w: w.cast(w.op("Not", w.nonzero(w.data)), w.output.dtype))
translates("amp_multicast")(
    lambda w: [w.cast(x, y.dtype) for x, y in zip(w.inputs, w.outputs, strict=True)]
)


# Activations


@translates("Activation")
def _activation(w: NodeWriter) -> str:
    names = {
        "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus",
        "softsign": "Softsign",
    }  # fmt: skip
    return w.op(names[w["act_type"]], w.data)


def _slopes(w: NodeWriter, data: Value, gamma: Value) -> str:
    lengths: list[Length] = [1] * data.rank
    unmatched = list(gamma.sizes)
    for axis in (1, 0) if data.rank > 1 else (0,):
        if unmatched and unmatched[-1] in (1, data.sizes[axis]):
            lengths[axis] = unmatched.pop()
    return w.reshape(gamma, lengths)


@translates("LeakyReLU")
def _leaky_relu(w: NodeWriter) -> str:
    act, slope = w["act_type"], w["slope"]
    if act == "prelu":
        return w.op("PRelu", w.data, _slopes(w, w.data, w.inputs[1]))
    if act == "selu":
        return w.op("Selu", w.data)
    if act == "gelu":
        part = w.op("Erf", w.op("Mul", w.data, w.scalar(math.sqrt(0.5))))
        return w.op("Mul", w.op("Mul", w.data, w.scalar(0.5)), w.op("Add", part, w.scalar(1)))
    if act == "rrelu":
        slope = (w["lower_bound"] + w["upper_bound"]) / 2
    return w.op("Elu" if act == "elu" else "LeakyRelu", w.data, alpha=slope)


@translates(
    "_copy", "_copyto", "BlockGrad", "Dropout", "cast_storage", "_contrib_gradientmultiplier",
    "IdentityAttachKLSparseReg", reads=("data",),
)  # fmt: skip
def _unchanged(w: NodeWriter) -> Operand:
    if w.operator == "Dropout" and w["mode"] == "always" and w["p"]:
        w.refuse("mode='always' draws random numbers in inference")
    return w.data


translates("_identity_with_attr_like_rhs", reads=("lhs",))(_unchanged)
