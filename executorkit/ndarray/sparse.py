"""``mx.nd.sparse``: not served. Every use says so and what to do instead."""

from __future__ import annotations

from typing import Any

from ..errors import NotSupportedError, explain


def _refuse(name: str) -> Any:
    raise NotSupportedError(
        explain(
            f"nd.sparse.{name}",
            "sparse arrays are not served",
            hint="dense arrays: mx.nd.array(x.asnumpy()), or x.tostype('default') with MXNet",
        )
    )


def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """Not served: raises MXNetError (NotImplementedError)."""
    _refuse("csr_matrix")


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """Not served: raises MXNetError (NotImplementedError)."""
    _refuse("row_sparse_array")


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """Not served: raises MXNetError (NotImplementedError)."""
    _refuse("array")


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Not served: raises MXNetError (NotImplementedError)."""
    _refuse("zeros")
