"""``mx.nd.sparse``: MXNet's functions on sparse arrays, here the same on dense arrays.

Functions that only sparse storage gives a meaning (constructors, ``retain``, ``adagrad_update``)
raise NotSupportedError.
"""

from typing import Any

from .._support.annotations import DType
from ..context import Context
from ..errors import InputTypeError, NotSupportedError
from ..ops.schema.operator_modules import sparse_module
from . import op
from ._arithmetic import add, divide, multiply, subtract
from ._creation import empty as _dense_empty, zeros as _dense_zeros
from ._ndarray import NDArray

__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "NDArray", "RowSparseNDArray", "add", "array", "csr_matrix",
    "divide", "empty", "multiply", "row_sparse_array", "subtract", "zeros",
]  # fmt: skip


class BaseSparseNDArray(NDArray):
    """The class of sparse arrays, for ``isinstance``: there are none."""

    __slots__ = ()


class CSRNDArray(BaseSparseNDArray):
    """The class of matrices with compressed rows, for ``isinstance``: there are none."""

    __slots__ = ()


class RowSparseNDArray(BaseSparseNDArray):
    """The class of arrays with few rows, for ``isinstance``: there are none."""

    __slots__ = ()


def _refuse(name: str) -> Any:
    hint = "dense arrays: mx.nd.array(x.asnumpy()), or x.tostype('default') with MXNet"
    raise NotSupportedError(f"nd.sparse.{name}", "sparse arrays are not served", hint=hint)


def csr_matrix(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: DType = None
) -> Any:
    """Raises NotSupportedError (NotImplementedError)."""
    _refuse("csr_matrix")


def row_sparse_array(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: DType = None
) -> Any:
    """Raises NotSupportedError (NotImplementedError)."""
    _refuse("row_sparse_array")


def array(source_array: Any, ctx: Context | None = None, dtype: DType = None) -> Any:
    """Raises NotSupportedError (NotImplementedError), and TypeError too for dense arrays."""
    if isinstance(source_array, NDArray):
        raise InputTypeError("nd.sparse.array", "the array is dense", hint="mx.nd.array")
    _refuse("array")


def zeros(
    stype: str, shape: Any, ctx: Context | None = None, dtype: DType = None, **kwargs: Any
) -> Any:
    """Returns zeros for ``stype`` 'default'; MXNetError (NotImplementedError) for others."""
    if stype != "default":
        _refuse("zeros")
    return _dense_zeros(shape, ctx, dtype, **kwargs)


def empty(stype: str, shape: Any, ctx: Context | None = None, dtype: DType = None) -> Any:
    """Returns :func:`zeros` of the same arguments."""
    if stype != "default":
        _refuse("empty")
    return _dense_empty(shape, ctx, dtype)


__getattr__, __dir__ = sparse_module(globals(), op)
