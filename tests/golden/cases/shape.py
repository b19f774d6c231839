"""Cases for reshaping."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal


def _reshape(name: str, data: Spec, also: tuple[str, ...] = (), **attrs: Any) -> Case:
    return Case(f"Reshape-{name}", "Reshape", {"data": data}, attrs, also=also)


CASES = [
    _reshape("plain", normal(2, 6), shape=(3, 4), also=("float64", "float16", "int32", "uint8")),
    _reshape("minus_1", normal(2, 3, 4), shape=(1, -1, 4)),
    _reshape("vector", normal(1), shape=(1, 1, -1)),
    _reshape("minus_1_1_1", normal(6), shape=(1, -1, 1, 1)),
    _reshape("zeros", normal(2, 3, 4), shape=(0, 0, -1)),
    _reshape("zeros_drop", normal(2, 3, 1), shape=(0, 0)),
    _reshape("minus_2", normal(2, 3, 4), shape=(-2, 1)),
    _reshape("minus_2_between", normal(2, 3, 4, 5), shape=(2, 3, -2)),
    _reshape("minus_3", normal(2, 3, 4, 2), shape=(0, -3, 0)),
    _reshape("minus_3_twice", normal(2, 3, 4, 2, 3), shape=(0, 0, -3, -3)[1:]),
    _reshape("minus_4", normal(2, 12, 3), shape=(0, -4, -1, 4, 0)),
    _reshape("minus_4_known", normal(2, 3, 4, 5), shape=(0, 0, -4, 2, 2, 0)),
    _reshape("minus_4_second", normal(12, 3), shape=(-4, 3, -1, -2)),
    _reshape("minus_4_minus_3", normal(2, 3, 4), shape=(-3, -4, 2, -1)),
    _reshape("minus_1_behind_minus_4", normal(2, 5, 1, 1), shape=(-4, 2, 1, -1, 1, 1)),
    _reshape("reverse_minus_2", normal(2, 3, 4), shape=(-2, 4), reverse=True),
    _reshape("reverse", normal(4, 5, 3), shape=(-1, 0), reverse=True),
    _reshape("reverse_size", normal(10, 5, 4), shape=(50, 0), reverse=True),
    _reshape("reverse_minus_1", normal(8, 3, 3, 2, 2), shape=(-1, 0, 0), reverse=True),
    _reshape("reverse_minus_3", normal(8, 3, 2), shape=(-3, 0), reverse=True),
    _reshape("reverse_minus_4", normal(8, 6, 3), shape=(0, -1, 2, -4, 0), reverse=True),
    _reshape("target_shape", normal(2, 3, 60), target_shape=(0, 3, 5, 12)),
    _reshape("target_shape_rest", normal(2, 3, 5), target_shape=(2, 0)),
    _reshape("keep_highest", normal(2, 3, 5), target_shape=(0, 0), keep_highest=True),
    _reshape("keep_highest_wins", normal(2, 3, 5), target_shape=(7, 0), keep_highest=True),
    Case("reshape_like", "reshape_like", {"lhs": normal(2, 6), "rhs": normal(3, 4)}),
    Case(
        "reshape_like-other_type",
        "reshape_like",
        {"lhs": normal(2, 6), "rhs": normal(3, 4, dtype="int32")},
        also=("float64",),
    ),
    Case(
        "reshape_like-ranges",
        "reshape_like",
        {"lhs": normal(5, 6, 2), "rhs": normal(2, 3, 4)},
        {"lhs_begin": 1, "lhs_end": 2, "rhs_begin": 0, "rhs_end": 2},
    ),
    Case(
        "reshape_like-negative",
        "reshape_like",
        {"lhs": normal(5, 6, 2), "rhs": normal(2, 3, 4)},
        {"lhs_begin": -2, "lhs_end": None, "rhs_begin": 1, "rhs_end": None},
    ),
    Case(
        "reshape_like-join",
        "reshape_like",
        {"lhs": normal(2, 6), "rhs": normal(12, 5)},
        {"lhs_end": 2, "rhs_end": -1},
    ),
    Case("Flatten", "Flatten", {"data": normal(2, 3, 4, 2)}, also=("float16", "int32")),
    Case("Flatten-vector", "Flatten", {"data": normal(3)}),
    Case("Flatten-matrix", "Flatten", {"data": normal(1, 1)}),
]
