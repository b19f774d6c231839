"""Cases for sequences of different lengths."""

from __future__ import annotations

from typing import Any

from ._case import Case, normal, values

OPS = ("SequenceLast", "SequenceMask", "SequenceReverse")


def _both_ways(op: str) -> list[Case]:
    """With and without lengths."""
    lengths = {"data": normal(4, 3, 2), "sequence_length": values([2, 4, 1])}
    used: dict[str, Any] = {"use_sequence_length": True}
    return [
        Case(op, op, {"data": normal(4, 3, 2)}, also=("float16",)),
        Case(f"{op}-lengths", op, lengths, used, also=("float64", "float16", "int32")),
        Case(
            f"{op}-other_type",
            op,
            {"data": normal(3, 2, 1, 2), "sequence_length": values([1, 3], "int32")},
            used,
        ),
        Case(f"{op}-matrix", op, {"data": normal(3, 2), "sequence_length": values([2.7, 3])}, used),
        Case(f"{op}-one", op, {"data": normal(1, 1), "sequence_length": values([1])}, used),
    ]


def _axis_1(op: str, **attrs: Any) -> list[Case]:
    lengths = {"data": normal(3, 4, 2), "sequence_length": values([2, 4, 1])}
    return [
        Case(f"{op}-axis_1", op, lengths, {"use_sequence_length": True, "axis": 1, **attrs}),
        Case(f"{op}-axis_1_whole", op, {"data": normal(3, 4, 2)}, {"axis": 1, **attrs}),
    ]


CASES = [
    *(case for op in OPS for case in _both_ways(op)),
    *_axis_1("SequenceLast"),
    *_axis_1("SequenceMask", value=-99999999.0),
    Case(
        "SequenceMask-value",
        "SequenceMask",
        {"data": normal(3, 3), "sequence_length": values([0, 9, 2])},
        {"use_sequence_length": True, "value": -1.5},
        also=("int32",),
    ),
    Case(
        "SequenceReverse-empty",
        "SequenceReverse",
        {"data": normal(3, 2, 2), "sequence_length": values([0, 3])},
        {"use_sequence_length": True},
    ),
]
