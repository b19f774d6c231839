"""Cases for repeating, reversing, padding and diagonals."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal


def _tile(name: str, reps: Any) -> Case:
    return Case(f"tile-{name}", "tile", {"data": normal(2, 3)}, {"reps": reps})


def _pad(name: str, data: Spec, mode: str, pad_width: tuple[int, ...], value: float = 0.0) -> Case:
    attrs = {"mode": mode, "pad_width": pad_width, "constant_value": value}
    return Case(f"Pad-{mode}-{name}", "Pad", {"data": data}, attrs)


def _diag(name: str, data: Spec, **attrs: Any) -> Case:
    return Case(f"diag-{name}", "diag", {"data": data}, attrs)


CASES = [
    Case("tile", "tile", {"data": normal(2, 3)}, {"reps": (2, 3)}, also=("float16", "int32")),
    _tile("fewer", (2,)),
    _tile("more", (2, 1, 2)),
    _tile("none", ()),
    Case("repeat", "repeat", {"data": normal(2, 3)}, {"repeats": 2}, also=("float64", "int32")),
    Case("repeat-axis", "repeat", {"data": normal(2, 3)}, {"repeats": 3, "axis": 1}),
    Case("repeat-negative", "repeat", {"data": normal(2, 3)}, {"repeats": 2, "axis": -2}),
    Case("reverse", "reverse", {"data": normal(2, 3)}, {"axis": 1}, also=("float16", "uint8")),
    Case("reverse-axes", "reverse", {"data": normal(2, 3, 2)}, {"axis": (0, 2)}),
    Case("flip-vector", "flip", {"data": normal(3)}, {"axis": 0}),
    _pad("4d", normal(2, 1, 3, 4), "constant", (0, 0, 0, 0, 1, 0, 0, 2), 1.5),
    _pad("none", normal(1, 1, 2, 2), "constant", (0, 0, 0, 0, 0, 0, 0, 0)),
    _pad("5d", normal(1, 2, 2, 1, 3), "constant", (0, 0, 0, 0, 1, 0, 0, 2, 1, 1)),
    _pad("4d", normal(2, 1, 3, 4), "edge", (0, 0, 0, 0, 1, 2, 2, 1)),
    _pad("5d", normal(1, 2, 2, 2, 2), "edge", (0, 0, 0, 0, 1, 0, 0, 1, 1, 1)),
    _pad("4d", normal(2, 1, 3, 4), "reflect", (0, 0, 0, 0, 2, 1, 3, 1)),
    _pad("5d", normal(1, 2, 2, 3, 2), "reflect", (0, 0, 0, 0, 1, 0, 0, 2, 1, 1)),
    Case(
        "Pad-dtypes",
        "Pad",
        {"data": normal(1, 1, 2, 2)},
        {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1), "constant_value": -0.1},
        dtype="float64",
        also=("float16",),
    ),
    _diag("matrix", normal(3, 4)),
    _diag("above", normal(3, 4), k=2),
    _diag("below", normal(3, 4), k=-1),
    _diag("swapped", normal(3, 4), axis1=-1, axis2=0, k=1),
    _diag("batch", normal(2, 3, 4), axis1=1, axis2=2),
    _diag("batch_default", normal(2, 3, 4)),
    _diag("outer_axes", normal(2, 3, 4), axis1=2, axis2=0, k=1),
    _diag("vector", normal(3)),
    _diag("vector_above", normal(2), k=1),
    Case("diag-vector_below", "diag", {"data": normal(1)}, {"k": -2}, also=("float64", "int32")),
]
