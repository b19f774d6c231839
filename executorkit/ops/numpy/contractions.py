"""Products of matrices, contractions and linear algebra on stacks of matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Shape
from ..schema.inference import same_shapes
from ..schema.traits import MATMUL
from ..tensor.linear_algebra import check_square, cholesky_factor, symmetric
from ..tensor.matmul import dot as matrix_dot
from ..value_checks import check_values
from .promotion import numpy_operator

# ruff: noqa: N803 - MXNet names matrices with capitals


@numpy_operator("_np_dot", traits={MATMUL}, kind="dense")
def dot(a: Array, b: Array) -> Array:
    """Sums products over the last axis of a and the last but one of b (or its only one): a product
    of matrices, vectors, or with a number of shape ()."""
    if a.ndim == b.ndim == 2:
        return matrix_dot(a, b)
    if a.ndim and b.ndim and a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(f"shapes {a.shape} and {b.shape} do not fit a product")
    return jnp.dot(a, b)


@numpy_operator("_npi_matmul", traits={MATMUL}, kind="dense")
def matmul(a: Array, b: Array) -> Array:
    """Multiplies stacks of matrices (..., m, k) and (..., k, n), whose leading axes broadcast; a
    vector (k,) is a row of a, or a column of b, and leaves no axis."""
    return matrix_dot(a, b) if a.ndim == b.ndim == 2 else jnp.matmul(a, b)


@numpy_operator("_npi_tensordot", traits={MATMUL}, kind="dense")
def tensordot(a: Array, b: Array, *, a_axes_summed: Shape, b_axes_summed: Shape) -> Array:
    """Sums products over pairs of axes of a and b, of any shapes."""
    return jnp.tensordot(a, b, (a_axes_summed, b_axes_summed))


@numpy_operator("_npi_tensordot_int_axes", traits={MATMUL}, kind="dense")
def tensordot_int_axes(a: Array, b: Array, *, axes: int) -> Array:
    """Sums products over the last ``axes`` axes of a and the first ones of b, of any shapes."""
    return jnp.tensordot(a, b, axes)


@numpy_operator("_npi_einsum", traits={MATMUL}, kind="dense")
def einsum(*data: Array, num_args: int, subscripts: str = "", optimize: int = 0) -> Array:
    """Sums products of ``num_args`` arrays of any shapes by Einstein's convention, as
    ``numpy.einsum``. ``optimize`` has no effect."""
    return jnp.einsum(subscripts, *data)


@numpy_operator("_npi_cholesky", infer_shape=same_shapes, checks_values=True)
def cholesky(A: Array) -> Array:
    """Factors positive definite matrices A (..., n, n), whose lower triangle is read, into L L^T;
    returns L. Others are an error."""
    factor = cholesky_factor(check_square(A))
    valid = jnp.all(jnp.isfinite(factor))
    check_values(valid, "operator _npi_cholesky", "A is not positive definite")
    return factor


@numpy_operator("_npi_eigh", outputs=("output0", "output1"))
def eigh(A: Array, *, UPLO: str = "L"):
    """Returns the eigenvalues (..., n), ascending, and eigenvectors of symmetric matrices
    A (..., n, n), of whose triangles ``UPLO`` is read."""
    return tuple(jnp.linalg.eigh(symmetric(check_square(A), lower=UPLO == "L")))


@numpy_operator("_npi_eigvalsh")
def eigvalsh(A: Array, *, UPLO: str = "L") -> Array:
    """Returns the eigenvalues (..., n), ascending, of symmetric matrices A (..., n, n), of whose
    triangles ``UPLO`` is read."""
    return jnp.linalg.eigvalsh(symmetric(check_square(A), lower=UPLO == "L"))


def _eigen(A: Array) -> tuple[Array, Array]:
    # XLA has the decomposition on CPUs alone.
    wide = check_square(A)
    shapes = [jax.ShapeDtypeStruct(s, A.dtype) for s in (A.shape[:-1], A.shape)]

    def on_host(x: Any) -> tuple[Any, Any]:
        values, vectors = np.linalg.eig(x)
        return np.real(values).astype(x.dtype), np.real(vectors).astype(x.dtype)

    return jax.pure_callback(
        on_host, tuple(shapes), lax.stop_gradient(wide), vmap_method="sequential"
    )


@numpy_operator("_npi_eig", outputs=("output0", "output1"))
def eig(A: Array):
    """Returns the real parts of eigenvalues (..., n) and eigenvectors of matrices A (..., n, n).
    The gradient is zero."""
    return _eigen(A)


@numpy_operator("_npi_eigvals")
def eigvals(A: Array) -> Array:
    """Returns the real parts of the eigenvalues (..., n) of matrices A (..., n, n). The gradient is
    zero."""
    return _eigen(A)[0]


@numpy_operator("_npi_svd", outputs=("output0", "output1", "output2"))
def svd(A: Array):
    """Factors matrices A (..., m, n), m <= n, into U L V; returns U (..., m, m), the singular
    values (..., m) and V (..., m, n)."""
    return tuple(jnp.linalg.svd(A, full_matrices=False))


@numpy_operator("_npi_solve")
def solve(A: Array, B: Array) -> Array:
    """Solves A X = B for matrices A (..., n, n) and B (..., n, k), or a vector (n,)."""
    check_square(A)
    if B.ndim == 1:
        return jnp.linalg.solve(A, B[:, None])[..., 0]
    return jnp.linalg.solve(A, B)


@numpy_operator("_npi_pinv")
def pinv(A: Array, rcond: Array, *, hermitian: bool = False) -> Array:
    """Computes the pseudo-inverses (..., n, m) of matrices A (..., m, n); singular values below
    rcond times the largest count as 0."""
    return jnp.linalg.pinv(A, rtol=rcond, hermitian=hermitian)


@numpy_operator("_npi_pinv_scalar_rcond")
def pinv_scalar_rcond(A: Array, *, rcond: float = 1e-15, hermitian: bool = False) -> Array:
    """Computes the pseudo-inverses (..., n, m) of matrices A (..., m, n); singular values below
    ``rcond`` times the largest count as 0."""
    return jnp.linalg.pinv(A, rtol=rcond, hermitian=hermitian)


@numpy_operator("_npi_tensorinv")
def tensorinv(a: Array, *, ind: int = 2) -> Array:
    """Inverts a as a map from its axes behind ``ind`` to those before."""
    return jnp.linalg.tensorinv(a, ind)


@numpy_operator("_npi_tensorsolve")
def tensorsolve(a: Array, b: Array, *, a_axes: Shape = ()) -> Array:
    """Solves tensordot(a, x) = b, of any shapes; ``a_axes`` are moved to the end of a first."""
    return jnp.linalg.tensorsolve(a, b, a_axes or None)
