"""Diagonals and triangles of matrices as vectors, and back."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import ShapeError
from ._registry import register

# ruff: noqa: N803 - MXNet names matrices with capitals


def square(A: jax.Array) -> jax.Array:
    """A, having checked that it holds square matrices."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"'A' is {A.shape}, expected square matrices (..., n, n)")
    return A


def _triangle_indices(n: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the triangle beyond diagonal ``offset``: of the lower one, row by row,
    for negative offsets, of the upper one, column by column, for positive, of the one named for 0.
    """
    if offset > 0 or (offset == 0 and not lower):
        columns, rows = np.tril_indices(n, -offset)
    else:
        rows, columns = np.tril_indices(n, offset)
    return rows, columns


@register("_linalg_extractdiag", "linalg_extractdiag")
def extractdiag(A: jax.Array, *, offset: int = 0):
    """Diagonal ``offset`` of each matrix of A (..., n, n), as (..., n - abs(offset))."""
    if abs(offset) >= square(A).shape[-1]:
        raise ShapeError(f"offset={offset}: matrices {A.shape} have no such diagonal")
    return jnp.diagonal(A, offset, -2, -1)


@register("_linalg_makediag", "linalg_makediag")
def makediag(A: jax.Array, *, offset: int = 0):
    """Matrices (..., m, m), m = n + abs(offset), with A (..., n) on diagonal ``offset``."""
    n = A.shape[-1]
    m = n + abs(offset)
    rows = np.arange(n) + max(-offset, 0)
    columns = np.arange(n) + max(offset, 0)
    out = jnp.zeros((*A.shape[:-1], m, m), A.dtype)
    return out.at[..., rows, columns].set(A, unique_indices=True)


@register("_linalg_extracttrian", "linalg_extracttrian")
def extracttrian(A: jax.Array, *, offset: int = 0, lower: bool = True):
    """A triangle of each matrix of A (..., n, n) as a vector (..., k (k + 1) / 2).

    k = n - abs(offset); lower triangles are read row by row, upper ones column by column. The
    triangle is the one below diagonal ``offset`` if that is negative, above it if positive; for 0
    ``lower`` decides.
    """
    rows, columns = _triangle_indices(square(A).shape[-1], offset, lower)
    if not len(rows):
        raise ShapeError(f"offset={offset}: matrices {A.shape} have no such triangle")
    return A[..., rows, columns]


@register("_linalg_maketrian", "linalg_maketrian")
def maketrian(A: jax.Array, *, offset: int = 0, lower: bool = True):
    """Matrices with A (..., k (k + 1) / 2) as a triangle, zeros elsewhere.

    The inverse of ``extracttrian``: (..., n, n) with n = k + abs(offset).
    """
    length = A.shape[-1]
    k = (math.isqrt(8 * length + 1) - 1) // 2
    if k * (k + 1) // 2 != length:
        raise ShapeError(f"'A' is {A.shape}, expected a last axis of k (k + 1) / 2 entries")
    n = k + abs(offset)
    rows, columns = _triangle_indices(n, offset, lower)
    out = jnp.zeros((*A.shape[:-1], n, n), A.dtype)
    return out.at[..., rows, columns].set(A, unique_indices=True)
