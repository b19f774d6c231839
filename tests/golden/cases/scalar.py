"""Cases for operators of an array and a number: signs, zeros, ties, conversion to the dtype."""

from __future__ import annotations

from ._case import Case, values

OPS = [
    "_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar", "_rdiv_scalar",
    "_mod_scalar", "_rmod_scalar", "_power_scalar", "_rpower_scalar", "_hypot_scalar",
    "_maximum_scalar", "_minimum_scalar", "_equal_scalar", "_not_equal_scalar", "_greater_scalar",
    "_greater_equal_scalar", "_lesser_scalar", "_lesser_equal_scalar", "_logical_and_scalar",
    "_logical_or_scalar", "_logical_xor_scalar", "_scatter_plus_scalar", "_scatter_minus_scalar",
]  # fmt: skip
ALIASES = [
    "_PlusScalar", "_MinusScalar", "_RMinusScalar", "_MulScalar", "_DivScalar", "_RDivScalar",
    "_ModScalar", "_RModScalar", "_PowerScalar", "_RPowerScalar", "_HypotScalar", "_MaximumScalar",
    "_MinimumScalar", "_EqualScalar", "_NotEqualScalar", "_GreaterScalar", "_GreaterEqualScalar",
    "_LesserScalar", "_LesserEqualScalar", "_LogicalAndScalar", "_LogicalOrScalar",
    "_LogicalXorScalar",
]  # fmt: skip
X = values([[0.0, 1.0, 1.5, 2.0], [-2.0, -7.0, -1.0, -1.5], [2.5, 7.0, 0.5, float("nan")]])
WHOLE = values([1, 2, 3, 7])
ZERO_MATTERS = [
    "_mod_scalar", "_rmod_scalar", "_power_scalar", "_rpower_scalar", "_hypot_scalar",
    "_div_scalar", "_rdiv_scalar", "_logical_xor_scalar",
]  # fmt: skip

CASES = [
    *(Case(op, op, {"data": X}, {"scalar": 1.5}, also=("float64",)) for op in OPS),
    *(Case(f"{op}-negative", op, {"data": X}, {"scalar": -2}) for op in OPS[:13]),
    *(Case(f"{op}-zero", op, {"data": X}, {"scalar": 0.0}) for op in ZERO_MATTERS),
    *(
        Case(f"{op}-whole", op, {"data": WHOLE}, {"scalar": 2.5}, dtype="int32", also=("uint8",))
        for op in OPS[:22]
    ),
    *(Case(op, op, {"data": values([2.0])}, {"scalar": 3}) for op in ALIASES),
    Case("_plus_scalar-half", "_plus_scalar", {"data": X}, {"scalar": 0.1}, dtype="float16"),
    Case("_plus_scalar-default", "_plus_scalar", {"data": X}),
    Case("_mul_scalar-named", "_mul_scalar", {"data": X}, {"scalar": 0.3, "is_int": False}),
    Case("_rminus_scalar-long", "_rminus_scalar", {"data": WHOLE}, {"scalar": 1}, dtype="int64"),
    *(
        Case(f"{op}-real", op, {"data": WHOLE}, {"scalar": 2.5, "is_int": False}, dtype="int32")
        for op in ("_plus_scalar", "_rdiv_scalar", "_greater_scalar", "_mod_scalar")
    ),
]
