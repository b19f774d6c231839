"""Cases for diagonals and triangles as vectors."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal


def _case(op: str, name: str, data: Spec, **attrs: Any) -> Case:
    return Case(f"_linalg_{op}-{name}", f"_linalg_{op}", {"A": data}, attrs)


CASES = [
    Case("_linalg_extractdiag", "_linalg_extractdiag", {"A": normal(3, 3)}, also=("float64",)),
    _case("extractdiag", "above", normal(2, 3, 3), offset=1),
    _case("extractdiag", "below", normal(3, 3), offset=-2),
    Case("_linalg_makediag", "_linalg_makediag", {"A": normal(3)}, also=("float64",)),
    _case("makediag", "above", normal(2, 2), offset=1),
    _case("makediag", "below", normal(1), offset=-2),
    Case("_linalg_extracttrian", "_linalg_extracttrian", {"A": normal(3, 3)}, also=("float64",)),
    _case("extracttrian", "upper", normal(2, 3, 3), lower=False),
    _case("extracttrian", "above", normal(4, 4), offset=1),
    _case("extracttrian", "below", normal(4, 4), offset=-1, lower=False),
    Case("_linalg_maketrian", "_linalg_maketrian", {"A": normal(6)}, also=("float64",)),
    _case("maketrian", "upper", normal(2, 6), lower=False),
    _case("maketrian", "above", normal(6), offset=1),
    _case("maketrian", "below", normal(3), offset=-2, lower=False),
]
