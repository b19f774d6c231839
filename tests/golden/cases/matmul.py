"""Cases for products of matrices."""

from __future__ import annotations

from typing import Any

from ._case import Case, normal


def _dot(name: str, lhs: tuple[int, ...], rhs: tuple[int, ...], **attrs: Any) -> Case:
    return Case(f"dot-{name}", "dot", {"lhs": normal(*lhs), "rhs": normal(*rhs)}, attrs)


def _batch(name: str, lhs: tuple[int, ...], rhs: tuple[int, ...], **attrs: Any) -> Case:
    inputs = {"lhs": normal(*lhs), "rhs": normal(*rhs)}
    return Case(f"batch_dot-{name}", "batch_dot", inputs, attrs)


def _gemm(name: str, *shapes: tuple[int, ...], **attrs: Any) -> Case:
    op = "_linalg_gemm2" if len(shapes) == 2 else "_linalg_gemm"
    inputs = {n: normal(*s) for n, s in zip("ABC", shapes, strict=False)}
    return Case(f"{op}-{name}", op, inputs, attrs)


CASES = [
    Case("dot", "dot", {"lhs": normal(2, 3), "rhs": normal(3, 4)}, also=("float64",)),
    _dot("a", (3, 2), (3, 4), transpose_a=True),
    _dot("b", (2, 3), (4, 3), transpose_b=True),
    _dot("a_b", (3, 2), (4, 3), transpose_a=True, transpose_b=True),
    _dot("vectors", (3,), (3,)),
    _dot("matrix_vector", (2, 3), (3,)),
    _dot("matrix_vector_a", (3, 2), (3,), transpose_a=True),
    _dot("vector_matrix", (3,), (3, 2)),
    _dot("vector_3d", (3,), (3, 2, 2)),
    _dot("3d_vector", (2, 2, 3), (3,)),
    _dot("3d", (2, 2, 3), (3, 2, 4)),
    _dot("3d_a", (3, 2, 2), (3, 2), transpose_a=True),
    _dot("3d_b", (2, 3), (2, 2, 3), transpose_b=True),
    _dot("3d_a_b", (3, 2, 2), (2, 4, 3), transpose_a=True, transpose_b=True),
    _dot("one", (1, 1), (1, 1)),
    Case(
        "batch_dot",
        "batch_dot",
        {"lhs": normal(2, 2, 3), "rhs": normal(2, 3, 4)},
        also=("float64",),
    ),
    _batch("a", (2, 3, 2), (2, 3, 4), transpose_a=True),
    _batch("b", (2, 2, 3), (2, 4, 3), transpose_b=True),
    _batch("a_b", (2, 3, 2), (2, 4, 3), transpose_a=True, transpose_b=True),
    _batch("4d", (2, 2, 1, 3), (2, 2, 3, 2)),
    Case(
        "_linalg_gemm2", "_linalg_gemm2", {"A": normal(2, 3), "B": normal(3, 2)}, also=("float64",)
    ),
    _gemm("batch", (2, 3, 4), (2, 5, 4), transpose_b=True, alpha=2.0),
    _gemm("a", (2, 2, 4, 3), (2, 2, 4, 1), transpose_a=True),
    _gemm("rows_first", (3, 2, 4), (4, 2, 5), axis=0),
    _gemm("rows_first_a_b", (4, 2, 3), (5, 2, 4), axis=-3, transpose_a=True, transpose_b=True),
    Case(
        "_linalg_gemm",
        "_linalg_gemm",
        {"A": normal(2, 3), "B": normal(3, 2), "C": normal(2, 2)},
        also=("float64",),
    ),
    _gemm("scaled", (2, 3), (4, 3), (2, 4), alpha=2.0, beta=-0.5, transpose_b=True),
    _gemm("batch_a", (2, 3, 2), (2, 3, 4), (2, 2, 4), transpose_a=True),
    _gemm("rows_first", (3, 2, 4), (4, 2, 5), (3, 2, 5), axis=0),
    Case(
        "khatri_rao",
        "khatri_rao",
        {"arg0": normal(2, 2), "arg1": normal(3, 2), "arg2": normal(2, 2)},
        no_grad="MXNet has no gradient for it",
    ),
]
