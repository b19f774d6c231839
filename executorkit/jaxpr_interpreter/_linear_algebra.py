"""Factorisations and triangular systems, by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._rules import Call, Kernel, rule


@rule("cholesky", fresh=True, weight=30)
def _cholesky(call: Call) -> Kernel:
    symmetrize = call.params.get("symmetrize_input", False)
    shape, dtype = call.shape, call.dtype

    def factor(x: Any) -> Any:
        if symmetrize:
            x = (x + np.swapaxes(x, -1, -2).conj()) / 2
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            # Matrices that are not positive definite have NaN as their factor, each by itself.
            result = np.full(shape, np.nan, dtype)
            for index in np.ndindex(*shape[:-2]):
                try:
                    result[index] = np.linalg.cholesky(x[index])
                except np.linalg.LinAlgError:
                    continue
            return result

    return factor


@rule("triangular_solve", fresh=True, weight=30)
def _triangular_solve(call: Call) -> Kernel:
    params = call.params
    left, lower = params["left_side"], params["lower"]
    turn, conjugate, unit = params["transpose_a"], params["conjugate_a"], params["unit_diagonal"]
    size = call.ins[0].shape[-1]

    def solve(a: Any, b: Any) -> Any:
        a = np.tril(a) if lower else np.triu(a)
        if unit:
            a = a - a * np.eye(size, dtype=a.dtype) + np.eye(size, dtype=a.dtype)
        if conjugate:
            a = a.conj()
        if turn:
            a = np.swapaxes(a, -1, -2)
        if not left:
            a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
        x = _substituted(a, b, lower == (turn != left))
        return x if left else np.swapaxes(x, -1, -2)

    return solve


def _substituted(a: Any, b: Any, lower: bool) -> Any:
    """The solution of a triangular system, row by row for all matrices at once."""
    x = np.empty(b.shape, b.dtype)
    size = a.shape[-1]
    for i in range(size) if lower else range(size - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, size)
        row = a[..., i : i + 1, known] @ x[..., known, :]
        x[..., i, :] = (b[..., i, :] - row[..., 0, :]) / a[..., i, i, None]
    return x


@rule("lu", fresh=True, weight=60)
def _lu(call: Call) -> Kernel:
    shape, pivots_shape = call.ins[0].shape, call.outs[1].shape
    rows, columns = shape[-2:]

    def factor(x: Any) -> Any:
        lu = np.array(x)
        pivots = np.zeros(pivots_shape, np.int32)
        permutation = np.broadcast_to(np.arange(rows, dtype=np.int32), shape[:-1]).copy()
        batch = np.indices(shape[:-2])
        for k in range(min(rows, columns)):
            pivot = np.argmax(np.abs(lu[..., k:, k]), -1) + k
            pivots[..., k] = pivot
            rows_k, rows_pivot = (*batch, np.full(shape[:-2], k)), (*batch, pivot)
            for array in (lu, permutation):
                array[rows_k], array[rows_pivot] = array[rows_pivot], array[rows_k].copy()
            diagonal = lu[..., k, k, None]
            below = np.where(diagonal == 0, lu[..., k + 1 :, k], lu[..., k + 1 :, k] / diagonal)
            lu[..., k + 1 :, k] = below
            lu[..., k + 1 :, k + 1 :] -= below[..., None] * lu[..., k : k + 1, k + 1 :]
        return lu, pivots, permutation

    return factor


@rule("qr", fresh=True, weight=60)
def _qr(call: Call) -> Kernel | None:
    if call.params.get("pivoting"):
        return None
    mode: Any = "complete" if call.params["full_matrices"] else "reduced"
    return lambda x: np.linalg.qr(x, mode)


@rule("eigh", fresh=True, weight=200)
def _eigh(call: Call) -> Kernel | None:
    if call.params.get("subset_by_index") is not None:
        return None
    triangle: Any = "L" if call.params["lower"] else "U"

    def decompose(x: Any) -> Any:
        values, vectors = np.linalg.eigh(x, triangle)
        return vectors, values

    return decompose


@rule("svd", fresh=True, weight=300)
def _svd(call: Call) -> Kernel | None:
    params = call.params
    if params.get("subset_by_index") is not None:
        return None
    full = params["full_matrices"]
    if not params["compute_uv"]:
        return lambda x: [np.linalg.svd(x, compute_uv=False)]

    def decompose(x: Any) -> Any:
        left, values, right = np.linalg.svd(x, full_matrices=full)
        return values, left, right

    return decompose


@rule("fft", fresh=True, weight=60)
def _fft(call: Call) -> Kernel:
    lengths, dtype = call.params["fft_lengths"], call.dtype
    axes = tuple(range(-len(lengths), 0))
    transform: Any = getattr(np.fft, f"{call.params['fft_type'].name.lower()}n")
    return lambda x: transform(x, lengths, axes).astype(dtype)
