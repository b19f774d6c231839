"""Cases for element-wise operators: values at which functions and gradients are special."""

from __future__ import annotations

from ._case import Case, integers, normal, uniform, values

NAN, INF = float("nan"), float("inf")
ODD = values([[-2.5, -1.5, -1.0, -0.5, 0.0, 0.25], [0.5, 1.0, 1.5, 2.5, 7.0, NAN]])
WITHIN = values([-1.5, -1.0, -0.75, -0.25, 0.0, 0.25, 0.75, 1.0, 1.5, NAN])
SINGLE = "MXNet's constants are of single precision"
WHOLE = values([[1, 2], [3, 5]])

FUNCTIONS = [
    "abs", "sign", "round", "rint", "ceil", "floor", "trunc", "fix", "negative", "reciprocal",
    "square", "sqrt", "rsqrt", "cbrt", "rcbrt", "exp", "expm1", "log", "log10", "log2", "log1p",
    "sin", "cos", "tan", "arcsinh", "arccosh", "arctan", "sinh", "cosh", "tanh",
    "sigmoid", "softsign", "logical_not",
]  # fmt: skip
OF_INTEGERS = ["abs", "sign", "floor", "negative", "square", "sqrt", "exp", "relu", "sigmoid",
               "logical_not"]  # fmt: skip

BINARY = [
    "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_mod", "_power", "_hypot",
    "_maximum", "_minimum", "_equal", "_not_equal", "_greater", "_greater_equal", "_lesser",
    "_lesser_equal", "_logical_and", "_logical_or", "_logical_xor", "_grad_add",
    "_scatter_elemwise_div",
]  # fmt: skip
ALIASES = [
    "_Plus", "_plus", "_add", "_Minus", "_minus", "_sub", "_Mul", "_mul", "_Div", "_div", "_Mod",
    "_Power", "_Hypot", "_Maximum", "_Minimum", "_Equal", "_Not_Equal", "_Greater",
    "_Greater_Equal", "_Lesser", "_Lesser_Equal", "_Logical_And", "_Logical_Or", "_Logical_Xor",
]  # fmt: skip
#: Ties, zeros on either side, every combination of signs.
LEFT = values([0.0, 0.0, 1.0, 1.5, -2.0, -7.0, -1.0, 1.5, 7.0, -7.0, 3.0, NAN])
RIGHT = values([0.0, 2.0, 0.0, -2.0, 3.0, -3.0, 0.0, 1.5, -3.0, 3.0, 3.0, 1.0])
WHOLE_LEFT = values([7, -7, 7, -7, 0, 2])
WHOLE_RIGHT = values([3, 3, -3, -3, 2, 2])

EDGES = values([-6, -2, -1, 0, 1, 2, 4, 60])
CASES = [
    *(Case(f, f, {"data": ODD}, also=("float16", "float64")) for f in FUNCTIONS),
    *(
        Case(f, f, {"data": ODD}, also=("float16", "float64"), rtol64=1e-7, why=SINGLE)
        for f in ("degrees", "radians", "erf")
    ),
    *(
        Case(f"{f}-edges", f, {"data": EDGES}, dtype="int32", also=("int64",))
        for f in ("reciprocal", "square", "log", "cosh", "erf")
    ),
    *(Case(f, f, {"data": WITHIN}, also=("float64",)) for f in ("arcsin", "arccos", "arctanh")),
    *(Case(f"{f}-whole", f, {"data": WHOLE}, dtype="int32") for f in OF_INTEGERS),
    *(Case(f"{f}-bytes", f, {"data": WHOLE}, dtype="uint8") for f in ("exp", "negative")),
    Case("relu", "relu", {"data": values([-2.0, -0.5, 0.0, 0.5, 3.0])},
         also=("float16", "float64")),
    Case("relu-nan", "relu", {"data": ODD}),
    Case("erfinv", "erfinv", {"data": WITHIN}, also=("float64",), rtol64=1e-7, why=SINGLE),
    Case("gamma", "gamma", {"data": ODD}, also=("float64",)),
    Case("gammaln", "gammaln", {"data": values([-2.5, -2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 2.5, NAN])},
         also=("float64",), rtol64=1e-7, why=SINGLE),
    *(
        Case(f, f, {"lhs": LEFT, "rhs": RIGHT}, also=("float64",),
             no_grad="MXNet has none" if f == "_grad_add" else None)
        for f in BINARY
    ),
    *(
        Case(f"{f}-whole", f, {"lhs": WHOLE_LEFT, "rhs": WHOLE_RIGHT}, dtype="int32")
        for f in BINARY
        if f not in ("_grad_add", "_scatter_elemwise_div")
    ),
    *(Case(f, f, {"lhs": uniform(1, low=1), "rhs": uniform(1, low=1)}) for f in ALIASES),
    Case("elemwise_mul-half", "elemwise_mul", {"lhs": normal(2, 3), "rhs": normal(2, 3)},
         dtype="float16"),
    Case("_mod-by_zero", "_mod", {"lhs": values([7, -7, 0]), "rhs": values([0, 0, 0])},
         dtype="int32"),
    Case("add_n", "add_n", {f"arg{i}": normal(2, 3) for i in range(6)}, {"num_args": 6},
         also=("float16", "float64")),
    Case("add_n-one", "add_n", {"arg0": normal(2, 3)}, {"num_args": 1}),
    Case("ElementWiseSum", "ElementWiseSum", {f"arg{i}": integers(1) for i in range(5)},
         {"num_args": 5}, dtype="int32"),
]  # fmt: skip
