"""Assignments written as operators."""

from __future__ import annotations

from ._case import Case, normal, values

CASES = [
    Case("fill_element_0index", "fill_element_0index",
         {"lhs": normal(3, 4), "mhs": normal(3), "rhs": values([0, 3, 1])}, eager=True),
    Case("onehot_encode", "_onehot_encode", {"lhs": values([2, 0]), "rhs": normal(2, 3)},
         eager=True, out=("rhs",)),
    Case("scatter_set_nd", "_scatter_set_nd",
         {"lhs": normal(3, 4), "rhs": normal(2), "indices": values([[0, 2], [3, 1]], "int32")},
         {"shape": (3, 4)}, eager=True, out=("lhs",)),
    Case("scatter_set_nd_rows", "_scatter_set_nd",
         {"lhs": normal(3, 4), "rhs": normal(2, 4), "indices": values([[0, 2]], "int32")},
         {"shape": (3, 4)}, eager=True, out=("lhs",)),
]  # fmt: skip
