"""MXNet's import path ``mxnet.base``: the exception, and the types that scripts test against."""

from __future__ import annotations

import numpy as np

from .errors import MXNetError, NotImplementedForSymbol

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)

mx_uint = np.uint32
mx_int = np.int32
mx_int64 = np.int64
mx_float = np.float32
mx_real_t = np.float32

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "integer_types",
    "mx_float",
    "mx_int",
    "mx_int64",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "string_types",
]
