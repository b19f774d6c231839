"""Operators of an array and a number.

The number is converted to the array's dtype before anything else: an int32 array plus 1.5 adds 1.
"""

from __future__ import annotations

from collections.abc import Callable

import jax

from ._arith import BINARY, BinaryFunction, is_floating, scalar_constant
from ._facts import Params, TypeFacts
from ._layouts import layout_elementwise
from ._registry import register
from ._rules import same_shapes

#: stem of the function, whether the scalar comes first: names, MXNet's canonical one first
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


def _infer_scalar_type(t: TypeFacts, p: Params) -> None:
    if p.is_int:
        t.same()
    elif t["data"] is not None:
        t.set("out0", t["data"] if "float" in t["data"] else "float64")
    else:
        t.set("data", t["out0"])


def _scalar_op(name: str, rule: BinaryFunction, first: bool) -> Callable[..., jax.Array]:
    def op(data: jax.Array, *, scalar: float = 1.0, is_int: bool = True) -> jax.Array:
        if not is_int and not is_floating(data):
            data = data.astype("float64")
        constant = scalar_constant(scalar, data.dtype)
        return rule.fn(constant, data) if first else rule.fn(data, constant)

    equation, note = rule.words(*(("scalar", "x") if first else ("x", "scalar")))
    op.__name__ = op.__qualname__ = name
    op.__doc__ = (
        f"{equation}, for every element x of data.\n\n"
        "data has any shape; the result has its shape and dtype, to which scalar is converted "
        f"first. Without ``is_int``, integers are computed and returned in float64. {note}"
    ).rstrip()
    return op


for (_stem, _first), _names in _SCALAR_NAMES.items():
    _fn = _scalar_op(_names[0], BINARY[_stem], _first)
    register(*_names, infer_shape=same_shapes, types=_infer_scalar_type, last=layout_elementwise)(
        _fn
    )
# Sparse-aware variants: for dense arrays they are the plain operators.
for _name, _stem in (("_scatter_plus_scalar", "add"), ("_scatter_minus_scalar", "sub")):
    register(_name, infer_shape=same_shapes, types=_infer_scalar_type)(
        _scalar_op(_name, BINARY[_stem], False)
    )
