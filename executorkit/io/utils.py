"""MXNet's import path ``mxnet.io.utils``: the arrays of iterators as named pairs."""

from typing import Any

import numpy as np

from ..errors import DataArgumentError
from ..ndarray import NDArray, array
from ._ndarray_iter import named_sources


def _init_data(data: object, allow_empty: bool, default_name: str) -> list[tuple[str, NDArray]]:
    sources = named_sources(data, default_name, default_name)
    if not sources and not allow_empty:
        raise DataArgumentError(f"_init_data: {default_name!r}", "it has no arrays")
    return [(source.name, array(source.value, source.context)) for source in sources]


def _has_instance(data: list[tuple[str, Any]], dtype: type) -> bool:
    return any(isinstance(value, dtype) for _, value in data)


def _getdata_by_idx(data: list[tuple[str, NDArray]], idx: np.ndarray) -> list[tuple[str, NDArray]]:
    return [(name, array(value.asnumpy()[idx], value.context)) for name, value in data]
