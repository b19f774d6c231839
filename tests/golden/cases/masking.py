"""Selections by a mask, on arrays: over each axis, nothing, everything."""

from __future__ import annotations

from ._case import Case, normal, values

MASK = values([0, 1, 0, 2])

CASES = [
    Case("boolean_mask", "_contrib_boolean_mask", {"data": normal(4, 3), "index": MASK},
         eager=True, also=("float64", "int32")),
    Case("boolean_mask_mixed", "_contrib_boolean_mask",
         {"data": normal(4), "index": values([1, 0, 0, 1], "int32")}, eager=True),
    Case("boolean_mask_all", "_contrib_boolean_mask",
         {"data": normal(2, 3, 2), "index": values([1, 1])}, eager=True),
    Case("boolean_mask_one_row", "_contrib_boolean_mask",
         {"data": normal(2, 3), "index": values([0, 1])}, {"axis": 0}, eager=True),
]  # fmt: skip
