"""Random shapes, arrays and matrices, drawn from NumPy's and Python's global generators."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..context import Context
from ..errors import MXNetError, NotSupportedError
from ..ndarray import NDArray, array


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Returns ``num_dim`` sizes from 1 (or 0) to ``dim``."""
    return tuple(int(d) for d in np.random.randint(not allow_zero_size, dim + 1, size=num_dim))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Returns two sizes, up to ``dim0`` and ``dim1``."""
    return tuple(int(np.random.randint(not allow_zero_size, d + 1)) for d in (dim0, dim1))


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """Returns three sizes, up to ``dim0``, ``dim1`` and ``dim2``."""
    return tuple(int(np.random.randint(not allow_zero_size, d + 1)) for d in (dim0, dim1, dim2))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Returns a pair of whole numbers, x in [x_low, x_high) and y in [y_low, y_high)."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """Returns standard normal float32 NumPy arrays: a list, or the array itself for one shape."""
    arrays = [np.asarray(np.random.randn(*s), dtype=np.float32) for s in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[np.ndarray]:
    """Returns a list of uniform NumPy arrays; keywords ``low`` (0), ``high`` (1), ``dtype``."""
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", np.float32)
    if kwargs:
        raise TypeError(f"unknown keywords: {', '.join(kwargs)}")
    return [np.random.uniform(low, high, size=s).astype(dtype) for s in shapes]


def random_sample(population: Sequence[object], k: int) -> list[Any]:
    """Returns ``k`` members of a sequence, in its order."""
    return [population[i] for i in sorted(random.sample(range(len(population)), k))]


def rand_ndarray(
    shape: tuple[int, ...],
    stype: str = "default",
    density: float | None = None,
    dtype: object = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """Returns a standard normal NDArray of ``shape``, ``dtype`` (float32) and ``ctx``. MXNetError
    for an ``stype`` other than "default"; the other arguments concern sparse arrays alone."""
    if stype != "default":
        problem = f"stype={stype!r}, only dense arrays are served"
        raise MXNetError("rand_ndarray", problem, hint="'default'")
    return array(random_arrays(shape), ctx, dtype or "float32")


def create_2d_tensor(rows: int, columns: int, dtype: object = np.int64) -> NDArray:
    """Returns (rows, columns), each entry the number of its row."""
    return array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def create_vector(size: int, dtype: object = np.int64) -> NDArray:
    """Returns 0, 1, ..., size - 1."""
    return array(np.arange(size), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """Returns the identity matrix (size, size), float32."""
    return array(np.eye(size), dtype="float32")


def get_identity_mat_batch(size: int) -> NDArray:
    """Returns two identity matrices, (2, size, size), float32."""
    return array(np.stack([np.eye(size)] * 2), dtype="float32")


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """Returns a random orthogonal matrix (n, n)."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Returns a random matrix (n, n), diagonalisable over the reals: V diag(w) V^-1."""
    basis = new_orthonormal_matrix_2d(n) + 0.25 * np.triu(np.random.rand(n, n), 1)
    return basis @ np.diag(np.random.uniform(-10, 10, size=n)) @ np.linalg.inv(basis)


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Returns a random symmetric matrix (n, n)."""
    basis = new_orthonormal_matrix_2d(n)
    matrix = basis @ np.diag(np.random.uniform(-10, 10, size=n)) @ basis.T
    return (matrix + matrix.T) / 2


def _stacked(make: Callable[[int], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"shape {shape} does not hold square matrices")
    count = int(np.prod(shape[:-2]))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """Returns matrices (..., n, n), each as of :func:`new_matrix_with_real_eigvals_2d`."""
    return _stacked(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """Returns symmetric matrices (..., n, n)."""
    return _stacked(new_sym_matrix_with_real_eigvals_2d, shape)


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """Returns an array of ``function`` of every entry of ``the_input``; a copy for None."""
    out = np.array(the_input)
    if function is not None:
        out.flat[:] = [function(v) for v in out.flat]
    return out


def assign_each2(
    input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None
) -> np.ndarray:
    """Returns ``function`` of each pair of entries of two arrays; a copy of the first for None."""
    out = np.array(input1)
    if function is not None:
        pairs = zip(out.flat, np.asarray(input2).flat, strict=True)
        out.flat[:] = [function(a, b) for a, b in pairs]
    return out


def np_reduce(
    dat: np.ndarray,
    axis: int | Sequence[int] | None,
    keepdims: bool | int,
    numpy_reduce_func: Callable[..., Any],
) -> Any:
    """Returns a NumPy reduction along several axes, for functions that take one axis only."""
    axes = range(dat.ndim) if axis is None else np.atleast_1d(np.asarray(axis, int))
    result = dat
    for a in sorted((int(a) % dat.ndim for a in axes), reverse=True):
        result = numpy_reduce_func(result, axis=a)
        if keepdims:
            result = np.expand_dims(result, a)
    return result


def collapse_sum_like(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the sum of ``a`` over the axes along which ``shape`` was broadcast to it."""
    extra = a.ndim - len(shape)
    if extra < 0 or any(d not in (1, n) for d, n in zip(shape, a.shape[extra:], strict=True)):
        raise ValueError(f"{shape} does not broadcast to {a.shape}")
    stretched = tuple(i + extra for i, d in enumerate(shape) if d == 1 and a.shape[i + extra] != 1)
    return a.sum(axis=(*range(extra), *stretched)).reshape(shape)


def _refused(name: str, problem: str, hint: str) -> Callable[..., NoReturn]:
    def refused(*args: object, **kwargs: object) -> NoReturn:
        raise NotSupportedError(f"test_utils.{name}", problem, hint=hint)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Raises NotSupportedError: {problem}."
    return refused


_SPARSE = "sparse arrays are not served", "rand_ndarray"
rand_sparse_ndarray = _refused("rand_sparse_ndarray", *_SPARSE)
create_sparse_array = _refused("create_sparse_array", *_SPARSE)
create_sparse_array_zd = _refused("create_sparse_array_zd", *_SPARSE)
shuffle_csr_column_indices = _refused("shuffle_csr_column_indices", *_SPARSE)
check_gluon_hybridize_consistency = _refused(
    "check_gluon_hybridize_consistency",
    "arrays of mx.np, which it takes, are not served",
    "mx.test_utils.assert_almost_equal of net(x) before and after net.hybridize()",
)
