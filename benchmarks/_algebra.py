"""Linear algebra: factorizations, and products of triangles, of columns, of attention heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._operators import Case, both


def cases(mx: Any) -> Iterator[Case]:
    """Each operator forward, and forward with backward where it has a gradient."""
    rng, sym, linalg = np.random.RandomState(0), mx.sym, mx.sym.linalg
    a, b = sym.Variable("a"), sym.Variable("b")
    yield from both(
        "khatri_rao, 300 x 64 and 200 x 64",
        sym.khatri_rao(a, b),
        {"a": rng.randn(300, 64), "b": rng.randn(200, 64)},
    )
    square = rng.randn(16, 128, 128)
    positive = {"a": square @ square.transpose(0, 2, 1) / 128 + np.eye(128)}
    triangle = {"a": np.tril(square) / 16 + 2 * np.eye(128), "b": rng.randn(16, 128, 128)}
    general = {"a": square / 32 + np.eye(128)}
    products = {"a": square, "b": triangle["b"]}
    for name, symbol, inputs, grad_names in (
        ("gemm2", linalg.gemm2(a, b), products, ("a", "b")),
        ("syrk", linalg.syrk(a), {"a": square}, ("a",)),
        ("trmm", linalg.trmm(a, b), triangle, ("a", "b")),
        ("trsm", linalg.trsm(a, b), triangle, ("a", "b")),
        ("potrf", linalg.potrf(a), positive, ("a",)),
        ("potri", linalg.potri(a), {"a": triangle["a"]}, ("a",)),
        ("sumlogdiag", linalg.sumlogdiag(a), positive, ("a",)),
        ("inverse", linalg.inverse(a), general, ("a",)),
        ("det", linalg.det(a), general, ("a",)),
        ("slogdet", linalg.slogdet(a)[1], general, ("a",)),
        ("gelqf", linalg.gelqf(a)[0], general, ()),
        ("syevd", linalg.syevd(a)[1], positive, ()),
        ("extractdiag", linalg.extractdiag(a), general, ("a",)),
        ("makediag", linalg.makediag(a), {"a": rng.randn(16, 128)}, ("a",)),
        ("extracttrian", linalg.extracttrian(a), general, ("a",)),
        ("maketrian", linalg.maketrian(a), {"a": rng.randn(16, 8256)}, ("a",)),
    ):
        yield from both(f"linalg.{name}, 16 of 128 x 128", symbol, inputs, *grad_names)
    yield from both(
        "interleaved_matmul_selfatt_qk, 128 words, 16 texts, 12 heads",
        sym.contrib.interleaved_matmul_selfatt_qk(a, heads=12),
        {"a": rng.randn(128, 16, 3 * 768)},
        "a",
    )
