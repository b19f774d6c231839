"""``mx.nd.utils``: files of arrays, and arrays by their storage type."""

from typing import Any

from .._support.annotations import DType
from ..context import Context
from . import sparse as sparse
from ._creation import array as array, empty as empty
from .params_file import load as load, load_frombuffer as load_frombuffer, save as save
from .sparse import zeros as _zeros


def zeros(
    shape: Any,
    ctx: Context | None = None,
    dtype: DType = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Any:
    """Returns zeros of ``shape``, by default float32, on ``ctx``; ``stype`` is 'default'."""
    return _zeros(stype or "default", shape, ctx, dtype, **kwargs)
