# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
from ._array_operators import array_module
from ._ndarray import NDArray

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None

def det(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the determinant of each matrix of A (..., n, n): (...), or (1,) for a single matrix."""
def extractdiag(A: NDArray | None = None, offset: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts diagonal ``offset`` of each matrix of A (..., n, n), as (..., n - abs(offset))."""
def extracttrian(A: NDArray | None = None, offset: int = 0, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Extracts a triangle of each matrix of A (..., n, n) as a vector (..., k (k + 1) / 2)."""
def gelqf(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Factorises A = L Q with lower triangular L and orthonormal rows of Q."""
def gemm(A: NDArray | None = None, B: NDArray | None = None, C: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) op(B) + beta C, for the matrices at each position of the other axes."""
def gemm2(A: NDArray | None = None, B: NDArray | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) op(B), for the matrices at each position of the other axes."""
def inverse(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Inverts the matrices A (..., n, n)."""
def makediag(A: NDArray | None = None, offset: int = 0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Makes matrices (..., m, m), m = n + abs(offset), with A (..., n) on diagonal ``offset``."""
def maketrian(A: NDArray | None = None, offset: int = 0, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Makes matrices with A (..., k (k + 1) / 2) as a triangle, zeros elsewhere."""
def potrf(A: NDArray | None = None, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the Cholesky factor: lower triangular L with L L^T = A, or without ``lower`` L^T."""
def potri(A: NDArray | None = None, lower: bool = True, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes the inverse of L L^T, given its Cholesky factor L, or without ``lower`` L^T."""
def slogdet(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes sign and log(abs(determinant)) of each matrix of A (..., n, n)."""
def sumlogdiag(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Sums the logarithms of each diagonal of A (..., n, n): (...), for one matrix (1,)."""
def syevd(A: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
    r"""Computes eigenvalues and eigenvectors of symmetric matrices, A = U^T diag(l) U."""
def syrk(A: NDArray | None = None, transpose: bool = False, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha A A^T (..., n, n) of A (..., n, m), or with ``transpose`` alpha A^T A (..., m, m)."""
def trmm(A: NDArray | None = None, B: NDArray | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes alpha op(A) B, or with ``rightside`` alpha B op(A), A triangular."""
def trsm(A: NDArray | None = None, B: NDArray | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Solves op(A) X = alpha B, or with ``rightside`` X op(A) = alpha B, A triangular."""
def __getattr__(name: str) -> _Callable[..., _Any]: ...
