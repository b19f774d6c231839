"""Matrix products by BLAS; factorisations and triangular systems by LAPACK."""

import math
from functools import partial
from typing import Any

import numpy as np

from .._support.annotations import DType, Raw
from ._helper_threads import MIN_MULTIPLICATIONS, THREADS, parts, run_all
from ._rules import Call, Kernel, is_small_float, rule

#: Rows and columns of a product's parts are multiples of the block that BLAS computes at once.
_TILE = 16


def product_dtype(dtype: DType, other: Any, result: Any, terms: int) -> np.dtype:
    """Returns the dtype in which BLAS computes sums of ``terms`` products exactly enough: float32
    for small floats, as XLA does, and for integers whose sums are exact."""
    if is_small_float(dtype) or is_small_float(other):
        wide = np.dtype(np.float32)
        return np.result_type(wide, result) if result.itemsize > 4 else wide
    if dtype.kind not in "iu":
        return np.result_type(dtype, other, result)
    bound = terms * float(2 ** (8 * (dtype.itemsize + other.itemsize) - 2))
    if bound <= 2.0**24:
        return np.dtype(np.float32)
    return np.dtype(np.float64) if bound <= 2.0**53 else result


def _are_plain_matrices(call: Call) -> bool:
    sums = call.params["dimension_numbers"][0][0]
    kinds = {(len(x.shape), x.dtype) for x in (*call.ins, *call.outs)}
    is_exact = call.dtype.kind in "fc" and not is_small_float(call.dtype)
    return is_exact and kinds == {(2, call.dtype)} and len(sums) == 1


@rule("dot_general", fresh=True, any_sizes=_are_plain_matrices)
def _dot_general(call: Call) -> Kernel | None:
    (left_sum, right_sum), (left_batch, right_batch) = call.params["dimension_numbers"]
    if _are_plain_matrices(call):
        return _matrices(left_sum[0] == 0, right_sum[0] == 1)
    left, right = call.ins
    left_free = [i for i in range(len(left.shape)) if i not in left_sum and i not in left_batch]
    right_free = [i for i in range(len(right.shape)) if i not in right_sum and i not in right_batch]
    terms = math.prod(left.shape[i] for i in left_sum)
    rows = math.prod(left.shape[i] for i in left_free)
    columns = math.prod(right.shape[i] for i in right_free)
    left_order = (*left_batch, *left_free, *left_sum)
    right_order = (*right_batch, *right_sum, *right_free)
    shape, dtype = call.shape, call.dtype
    wide = product_dtype(left.dtype, right.dtype, dtype, terms)
    is_divided = not left_batch and rows * terms * columns >= MIN_MULTIPLICATIONS
    matmul = divided_product if is_divided else np.matmul
    lead = [math.prod([left.shape[i] for i in left_batch])] if left_batch else []
    left_shape, right_shape = (*lead, rows, terms), (*lead, terms, columns)

    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x = x.transpose(left_order).reshape(left_shape).astype(wide, copy=False)
        y = y.transpose(right_order).reshape(right_shape).astype(wide, copy=False)
        return matmul(x, y).astype(dtype, copy=False).reshape(shape)

    return multiply


def _matrices(turn_left: bool, turn_right: bool) -> Kernel:
    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = x.T if turn_left else x, y.T if turn_right else y
        is_divided = x.size * y.shape[1] >= MIN_MULTIPLICATIONS
        return divided_product(x, y) if is_divided else x @ y

    return multiply


def divided_product(x: Raw, y: Raw, out: Raw = None) -> Raw:
    rows, terms = x.shape
    columns = y.shape[1]
    if out is None:
        out = np.empty((rows, columns), np.result_type(x, y))
    if columns >= rows:
        pieces = [(slice(None), part) for part in parts(columns, THREADS, _TILE)]
    else:
        pieces = [(part, slice(None)) for part in parts(rows, THREADS, _TILE)]
    jobs = [partial(np.matmul, x[i], y[:, j], out[i, j]) for i, j in pieces]
    run_all(jobs, rows * terms * columns)
    return out


@rule("cholesky", fresh=True, weight=30)
def _cholesky(call: Call) -> Kernel:
    symmetrize = call.params.get("symmetrize_input", False)
    shape, dtype = call.shape, call.dtype

    def factor(x: np.ndarray) -> np.ndarray:
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

    def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
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


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool) -> Raw:
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

    def factor(x: np.ndarray) -> tuple[np.ndarray, ...]:
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
    mode = "complete" if call.params["full_matrices"] else "reduced"
    return lambda x: np.linalg.qr(x, mode)


@rule("eigh", fresh=True, weight=200)
def _eigh(call: Call) -> Kernel | None:
    if call.params.get("subset_by_index") is not None:
        return None
    triangle = "L" if call.params["lower"] else "U"

    def decompose(x: np.ndarray) -> tuple[np.ndarray, ...]:
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

    def decompose(x: np.ndarray) -> tuple[np.ndarray, ...]:
        left, values, right = np.linalg.svd(x, full_matrices=full)
        return values, left, right

    return decompose


@rule("fft", fresh=True, weight=60)
def _fft(call: Call) -> Kernel:
    lengths, dtype = call.params["fft_lengths"], call.dtype
    axes = tuple(range(-len(lengths), 0))
    transform = getattr(np.fft, f"{call.params['fft_type'].name.lower()}n")
    return lambda x: transform(x, lengths, axes).astype(dtype)
