"""Cases for factorisations and triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._case import Case, Spec, normal, values

BOTH = ("float64",)
LAPACK = "factorisations lose digits in float32, in both implementations"


def _positive(*shape: int) -> Spec:
    """Symmetric positive definite matrices."""
    rng = np.random.RandomState(7)
    root = rng.uniform(-1, 1, shape)
    matrix = root @ root.swapaxes(-1, -2) + np.eye(shape[-1])
    return values(np.round(matrix, 3).tolist())


def _regular(*shape: int) -> Spec:
    """Well conditioned matrices, without symmetry."""
    rng = np.random.RandomState(8)
    return values(np.round(rng.uniform(-1, 1, shape) + 2 * np.eye(shape[-1]), 3).tolist())


def _triangular(op: str) -> list[Case]:
    left = {"A": _regular(3, 3), "B": normal(3, 2)}
    right = {"A": _regular(2, 3, 3), "B": normal(2, 2, 3)}
    every = [(t, r, lo) for t in (False, True) for r in (False, True) for lo in (False, True)]
    cases = []
    for transpose, rightside, lower in every:
        attrs: dict[str, Any] = {"transpose": transpose, "rightside": rightside, "lower": lower}
        name = "-".join([op, *(n for n, on in attrs.items() if on)])
        attrs["alpha"] = 2.0 if transpose else 1.0
        inputs = right if rightside else left
        cases.append(Case(name, op, inputs, attrs, also=BOTH, rtol=1e-4, why=LAPACK))
    return cases


def _factor(name: str, data: Spec, **attrs: Any) -> Case:
    op = name.partition("-")[0]
    return Case(name, op, {"A": data}, attrs, also=BOTH, rtol=1e-4, why=LAPACK)


CASES = [
    _factor("_linalg_potrf", _positive(3, 3)),
    _factor("_linalg_potrf-batch", _positive(2, 4, 4)),
    _factor("_linalg_potrf-one", values([[4]])),
    _factor("_linalg_potrf-upper", _regular(3, 3), lower=False),
    _factor("_linalg_potri", _regular(3, 3)),
    _factor("_linalg_potri-upper", _regular(2, 3, 3), lower=False),
    _factor("_linalg_potri-batch", _regular(2, 2, 2)),
    *_triangular("_linalg_trmm"),
    *_triangular("_linalg_trsm"),
    _factor("_linalg_syrk", normal(3, 2), alpha=2.0),
    _factor("_linalg_syrk-transpose", normal(2, 3, 2), transpose=True),
    _factor("_linalg_gelqf", normal(2, 3)),
    _factor("_linalg_gelqf-batch", normal(2, 3, 3)),
    _factor("_linalg_syevd", _positive(3, 3)),
    _factor("_linalg_syevd-batch", _positive(3, 4, 4)),
    _factor("_linalg_syevd-lower", _regular(3, 3)),
    _factor("_linalg_inverse", _regular(2, 3, 3)),
    _factor("_linalg_det", _regular(3, 3)),
    _factor("_linalg_det-batch", _regular(2, 4, 4)),
    _factor("_linalg_slogdet", values([[0, 2], [3, 1]])),
    _factor("_linalg_slogdet-batch", _regular(2, 3, 3)),
    _factor("_linalg_sumlogdiag", _positive(3, 3)),
    _factor("_linalg_sumlogdiag-batch", _positive(2, 2, 2)),
]
