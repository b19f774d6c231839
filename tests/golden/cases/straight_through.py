"""Gradients that are not the derivative: at halves, at zero, for both signs of the factor."""

from __future__ import annotations

from ._case import Case, normal, values

X = values([-2.5, -1.5, -0.5, -0.2, 0.0, 0.2, 0.5, 1.5, 2.5, float("nan")])
ALSO = ("float16", "float64")

CASES = [
    Case("round_ste", "_contrib_round_ste", {"data": X}, also=ALSO),
    Case("sign_ste", "_contrib_sign_ste", {"data": X}, also=ALSO),
    Case("gradientmultiplier", "_contrib_gradientmultiplier", {"data": normal(2, 3)},
         {"scalar": -0.5}, also=ALSO),
    Case("gradientmultiplier_default", "_contrib_gradientmultiplier", {"data": normal(1)}),
    Case("round_ste-whole", "_contrib_round_ste", {"data": values([1, 2, 3])}, dtype="int32"),
    Case("gradientmultiplier_real", "_contrib_gradientmultiplier", {"data": normal(2, 3)},
         {"scalar": 0.3, "is_int": False}),
]  # fmt: skip
