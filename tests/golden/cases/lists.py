"""Checks of one array and of several: finite, infinite, not a number, equal."""

from __future__ import annotations

from ._case import Case, normal, values

NONE = "MXNet has none"
INF, NAN = float("inf"), float("nan")
A = values([1.0, 2.0, INF, NAN, 0.0])

CASES = [
    Case("all_finite", "all_finite", {"data": normal(2, 3)}, also=("float16", "float64"),
         no_grad=NONE),
    Case("all_finite_inf", "all_finite", {"data": values([1.0, -INF])}, no_grad=NONE),
    Case("all_finite_nan", "all_finite", {"data": values([[1.0], [NAN]])}, no_grad=NONE),
    Case("multi_all_finite", "multi_all_finite", {"array_0": normal(2, 3), "array_1": normal(4)},
         {"num_arrays": 2}, eager=True),
    Case("multi_all_finite_inf", "multi_all_finite",
         {"array_0": normal(2, 3), "array_1": values([INF])}, {"num_arrays": 2}, eager=True),
    Case("multi_sum_sq", "multi_sum_sq", {"array_0": normal(2, 3), "array_1": normal(1)},
         {"num_arrays": 2}, also=("float64",), eager=True),
    Case("multi_sum_sq_half", "multi_sum_sq", {"array_0": normal(2, 3), "array_1": normal(1)},
         {"num_arrays": 2}, dtype="float16", eager=True, rtol=1e-3, why="MXNet adds in float16"),
    Case("reset_arrays", "reset_arrays", {"array_0": normal(2, 3), "array_1": normal(1)},
         {"num_arrays": 2}, eager=True),
    Case("allclose", "_contrib_allclose",
         {"a": values([1.0, 2.0]), "b": values([1.0 + 1e-6, 2.0])}, also=("float64",),
         no_grad=NONE),
    Case("allclose_not", "_contrib_allclose",
         {"a": values([1.0, 2.0]), "b": values([1.0 + 1e-4, 2.0])}, no_grad=NONE),
    Case("allclose_tolerance", "_contrib_allclose",
         {"a": values([1.0, 2.0]), "b": values([1.5, 2.0])}, {"rtol": 0.0, "atol": 0.6},
         no_grad=NONE),
    Case("allclose_special", "_contrib_allclose", {"a": A, "b": A}, no_grad=NONE),
    Case("allclose_nan_differs", "_contrib_allclose", {"a": A, "b": A}, {"equal_nan": False},
         no_grad=NONE),
]  # fmt: skip
