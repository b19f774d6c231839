"""Factorisations, triangular solves, determinants, diagonals and triangles of stacks of matrices.

The LAPACK part of MXNet's ``linalg``: all operators take stacks (..., n, n), in float32 or float64.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import ShapeError
from ..schema.calls import same_signature
from ..schema.inference import Params, ShapeFacts, same_dtype_among, same_shapes
from ..schema.operator_registry import register
from ..schema.traits import MATMUL
from ..tracing import at_least
from ..value_checks import check_values
from .reverse_rules import with_vjp

# ruff: noqa: N803 - MXNet names matrices with capitals


def check_square(A: Array) -> Array:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"'A' is {A.shape}, expected square matrices (..., n, n)")
    return A


def _triangle_indices(n: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    # The lower triangle, row by row, for negative offsets, the upper one, column by column, for
    # positive ones; for 0 ``lower`` decides.
    if offset > 0 or (offset == 0 and not lower):
        columns, rows = np.tril_indices(n, -offset)
    else:
        rows, columns = np.tril_indices(n, offset)
    return rows, columns


@register("_linalg_extractdiag", "linalg_extractdiag")
def extractdiag(A: Array, *, offset: int = 0):
    """Extracts diagonal ``offset`` of each matrix of A (..., n, n), as (..., n - abs(offset))."""
    if abs(offset) >= check_square(A).shape[-1]:
        raise ShapeError(f"offset={offset}: matrices {A.shape} have no such diagonal")
    return jnp.diagonal(A, offset, -2, -1)


@register("_linalg_makediag", "linalg_makediag")
def makediag(A: Array, *, offset: int = 0):
    """Makes matrices (..., m, m), m = n + abs(offset), with A (..., n) on diagonal ``offset``."""
    n = A.shape[-1]
    m = n + abs(offset)
    first = jnp.arange(n, dtype=jnp.int32)
    rows, columns = first + max(-offset, 0), first + max(offset, 0)
    out = jnp.zeros((*A.shape[:-1], m, m), A.dtype)
    return out.at[..., rows, columns].set(A, unique_indices=True)


@register("_linalg_extracttrian", "linalg_extracttrian")
def extracttrian(A: Array, *, offset: int = 0, lower: bool = True):
    """Extracts a triangle of each matrix of A (..., n, n) as a vector (..., k (k + 1) / 2).

    k = n - abs(offset); lower triangles are read row by row, upper ones column by column. The
    triangle is below diagonal ``offset`` if that is negative, above it if positive; for 0 ``lower``
    decides.
    """
    rows, columns = _triangle_indices(check_square(A).shape[-1], offset, lower)
    if not len(rows):
        raise ShapeError(f"offset={offset}: matrices {A.shape} have no such triangle")
    return A[..., rows, columns]


@register("_linalg_maketrian", "linalg_maketrian")
def maketrian(A: Array, *, offset: int = 0, lower: bool = True):
    """Makes matrices with A (..., k (k + 1) / 2) as a triangle, zeros elsewhere.

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


def _transpose(A: Array) -> Array:
    return jnp.swapaxes(A, -1, -2)


def _triangle(A: Array, lower: bool) -> Array:
    return jnp.tril(A) if lower else jnp.triu(A)


def _solve(A: Array, B: Array, **options: bool) -> Array:
    # One matrix after the other: on CPUs one of XLA's threads divides a stack among the others and
    # waits for them; two independent solves on two cores then wait for each other for ever.
    if A.ndim == 2:
        return lax.linalg.triangular_solve(A, B, **options)
    count = math.prod(A.shape[:-2])
    stacks = tuple(x.reshape(count, *x.shape[-2:]) for x in (A, B))
    return lax.map(lambda x: lax.linalg.triangular_solve(*x, **options), stacks).reshape(B.shape)


def symmetric(A: Array, *, lower: bool = True) -> Array:
    """Returns the symmetric matrices of one triangle; the gradient is symmetric, as in MXNet."""
    triangle = jnp.tril(A) if lower else _transpose(jnp.triu(A))
    whole = lax.stop_gradient(triangle + _transpose(jnp.tril(triangle, -1)))
    mean = 0.5 * (A + _transpose(A))
    return whole + (mean - lax.stop_gradient(mean))


def _cholesky_forward(A: Array) -> tuple[Array, Array]:
    out = cholesky_factor(A)
    return out, out


def _cholesky_backward(out: Array, head: Array) -> tuple[Array]:
    # L^-T copyltu(L^T head) L^-1 / 2, symmetric though only the lower triangle of A is read.
    inner = jnp.tril(_transpose(out) @ head)
    inner = inner + _transpose(jnp.tril(inner, -1))
    left = _solve(out, inner, left_side=True, lower=True, transpose_a=True)
    return (0.5 * _solve(out, left, left_side=False, lower=True),)


def _cholesky_tangent(out: Array, tangents: tuple[Array]) -> Array:
    # L phi(L^-1 T L^-T), T being the symmetric part of the tangent, and phi the lower triangle with
    # half of the diagonal.
    inner = _solve(out, 0.5 * (tangents[0] + _transpose(tangents[0])), left_side=True, lower=True)
    inner = jnp.tril(_solve(out, inner, left_side=False, lower=True, transpose_a=True))
    return out @ (inner - 0.5 * jnp.eye(out.shape[-1], dtype=out.dtype) * inner)


cholesky_factor = with_vjp(
    lambda A: lax.linalg.cholesky(A, symmetrize_input=False),
    _cholesky_forward, _cholesky_backward, _cholesky_tangent,
)  # fmt: skip


def _check_factors(name: str, A: Array, out: Array, problem: str) -> None:
    finite = jnp.isfinite(out).all((-2, -1)) | ~jnp.isfinite(A).all((-2, -1))
    check_values(lax.stop_gradient(finite).all(), f"operator {name}", problem)


@register("_linalg_potrf", "linalg_potrf", infer_shape=same_shapes, checks_values=True)
def potrf(A: Array, *, lower: bool = True):
    """Computes the Cholesky factor: lower triangular L with L L^T = A, or without ``lower`` L^T.

    A (..., n, n), symmetric and positive definite; only its lower triangle is read, or without
    ``lower`` the upper one. Returns (..., n, n). The gradient is a symmetric matrix, as in MXNet.
    Reading a result raises MXNetError if a finite matrix is not positive definite.
    """
    triangle = check_square(A) if lower else _transpose(check_square(A))
    factor = cholesky_factor(triangle)
    _check_factors("linalg_potrf", triangle, factor, "a matrix is not positive definite")
    return factor if lower else _transpose(factor)


@register("_linalg_potri", "linalg_potri", infer_shape=same_shapes, checks_values=True)
def potri(A: Array, *, lower: bool = True):
    """Computes the inverse of L L^T, given its Cholesky factor L, or without ``lower`` L^T.

    A (..., n, n) is triangular. Returns (..., n, n), symmetric. Reading a result raises MXNetError
    if a diagonal has a zero.
    """
    factor = jnp.tril(check_square(A) if lower else _transpose(check_square(A)))
    diagonal = jnp.diagonal(lax.stop_gradient(factor), axis1=-2, axis2=-1)
    check_values(
        (diagonal != 0).all(),
        "operator linalg_potri",
        "a diagonal has a zero, so that it is not a Cholesky factor",
    )
    eye = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=A.dtype), A.shape)
    inverse = _solve(factor, eye, left_side=True, lower=True)
    return _transpose(inverse) @ inverse


def _infer_triangular_shape(s: ShapeFacts, p: Params) -> None:
    s.same("B", "out0")
    b = s["B"]
    if b is not None and len(b) >= 2:
        n = b[-1] if p.rightside else b[-2]
        s.set("A", (*b[:-2], n, n), because=f"B is {b}, rightside={p.rightside}")


@register("_linalg_trmm", "linalg_trmm", infer_shape=_infer_triangular_shape, traits={MATMUL})
def trmm(
    A: Array,
    B: Array,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
):
    """Computes alpha op(A) B, or with ``rightside`` alpha B op(A), A triangular.

    A (..., n, n), of which the lower triangle is read, or without ``lower`` the upper one; with
    ``transpose`` op is the transpose. B (..., n, m), or with ``rightside`` (..., m, n).
    """
    triangle = _triangle(check_square(A), lower)
    triangle = _transpose(triangle) if transpose else triangle
    return alpha * (B @ triangle if rightside else triangle @ B)


@register("_linalg_trsm", "linalg_trsm", infer_shape=_infer_triangular_shape)
@same_signature(trmm)
def trsm(A, B, *, transpose, rightside, lower, alpha):
    """Solves op(A) X = alpha B, or with ``rightside`` X op(A) = alpha B, A triangular.

    A (..., n, n), of which the lower triangle is read, or without ``lower`` the upper one; with
    ``transpose`` op is the transpose. B (..., n, m), or with ``rightside`` (..., m, n).
    """
    options = {"left_side": not rightside, "lower": lower, "transpose_a": transpose}
    return _solve(_triangle(check_square(A), lower), alpha * B, **options)


@register("_linalg_syrk", "linalg_syrk")
def syrk(A: Array, *, transpose: bool = False, alpha: float = 1.0):
    """Computes alpha A A^T (..., n, n) of A (..., n, m), or with ``transpose`` alpha A^T A (..., m,
    m)."""
    return alpha * (_transpose(A) @ A if transpose else A @ _transpose(A))


@register("_linalg_gelqf", "linalg_gelqf", outputs=("output0", "output1"))
def gelqf(A: Array):
    """Factorises A = L Q with lower triangular L and orthonormal rows of Q.

    A (..., n, m), n <= m, of full rank. Returns Q (..., n, m), then L (..., n, n).
    """
    if A.ndim < 2 or not at_least(A.shape[-1], A.shape[-2], otherwise=True):
        raise ShapeError(f"'A' is {A.shape}, expected (..., n, m) with n <= m")
    q, r = jnp.linalg.qr(_transpose(A))
    return _transpose(q), _transpose(r)


@register("_linalg_syevd", outputs=("output0", "output1"))
def syevd(A: Array):
    """Computes eigenvalues and eigenvectors of symmetric matrices, A = U^T diag(l) U.

    A (..., n, n), of which the lower triangle is read. Returns U (..., n, n), an eigenvector in
    each row, its entry of largest magnitude positive; then l (..., n), ascending.
    """
    values, vectors = jnp.linalg.eigh(symmetric(check_square(A)))
    rows = _transpose(vectors)
    largest = jnp.argmax(jnp.abs(rows), -1, keepdims=True)
    return rows * jnp.sign(lax.stop_gradient(jnp.take_along_axis(rows, largest, -1))), values


@register("_linalg_inverse", "linalg_inverse", infer_shape=same_shapes, checks_values=True)
def inverse(A: Array):
    """Inverts the matrices A (..., n, n).

    Reading a result raises MXNetError if a finite matrix is singular.
    """
    out = jnp.linalg.inv(check_square(A))
    _check_factors("linalg_inverse", A, out, "a matrix is singular")
    return out


def _batch_shape(A: Array) -> tuple[int, ...]:
    return A.shape[:-2] or (1,)


@register(
    "_linalg_det",
    "linalg_det",
    outputs=("output0", "output1", "output2"),
    visible=1,
    infer_type=same_dtype_among(out2="int32"),
)
def det(A: Array):
    """Computes the determinant of each matrix of A (..., n, n): (...), or (1,) for a single matrix.

    Hidden outputs hold the LU factorisation and its pivots.
    """
    lu, pivots, _ = lax.linalg.lu(lax.stop_gradient(check_square(A)))
    return jnp.linalg.det(A).reshape(_batch_shape(A)), lu, pivots


@register(
    "_linalg_slogdet",
    "linalg_slogdet",
    outputs=("output0", "output1", "output2", "output3"),
    visible=2,
    infer_type=same_dtype_among(out3="int32"),
)
def slogdet(A: Array):
    """Computes sign and log(abs(determinant)) of each matrix of A (..., n, n).

    Both are (...), or (1,) for a single matrix. The sign has no gradient. Hidden outputs hold the
    LU factorisation and its pivots.
    """
    lu, pivots, _ = lax.linalg.lu(lax.stop_gradient(check_square(A)))
    sign, log = jnp.linalg.slogdet(A)
    return sign.reshape(_batch_shape(A)), log.reshape(_batch_shape(A)), lu, pivots


@register("_linalg_sumlogdiag", "linalg_sumlogdiag")
def sumlogdiag(A: Array):
    """Sums the logarithms of each diagonal of A (..., n, n): (...), for one matrix (1,)."""
    diagonal = jnp.diagonal(check_square(A), axis1=-2, axis2=-1)
    return jnp.log(diagonal).sum(-1).reshape(_batch_shape(A))
