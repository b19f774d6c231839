"""Functions of NumPy that ``mx.np`` passes on: they run on copies, and refuse to be recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.schema.operator_registry import named
from ._protocols import on_host
from .multiarray import ndarray

__all__ = ["FALLBACKS", "LINALG_FALLBACKS"]

_NAMES = (
    "allclose", "apply_along_axis", "apply_over_axes", "argpartition", "argwhere", "array_equal",
    "array_equiv", "choose", "compress", "corrcoef", "correlate", "count_nonzero", "cov",
    "digitize", "divmod", "extract", "flatnonzero", "float_power", "frexp", "heaviside",
    "histogram2d", "histogram_bin_edges", "histogramdd", "i0", "interp", "intersect1d", "isclose",
    "isin", "ix_", "lexsort", "min_scalar_type", "modf", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "ndim",
    "partition", "piecewise", "packbits", "poly", "polyadd", "polydiv", "polyfit", "polyint",
    "polymul", "polysub", "positive", "promote_types", "ptp", "real", "result_type", "rollaxis",
    "roots", "searchsorted", "select", "setdiff1d", "setxor1d", "signbit", "size", "spacing",
    "take_along_axis", "tril_indices_from", "trim_zeros", "triu_indices_from", "union1d",
    "unpackbits", "unwrap", "vander",
)  # fmt: skip
#: Functions that NumPy has no more under these names.
_RENAMED: dict[str, Callable[..., Any]] = {
    "alltrue": np.all,
    "in1d": lambda ar1, ar2, **kwargs: np.isin(np.ravel(ar1), ar2, **kwargs),
    "msort": lambda a: np.sort(a, 0),
    "trapz": np.trapezoid,
}
_LINALG = ("cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr")


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return on_host(ndarray, name, function, args, kwargs)

    call.on_host = True  # type: ignore[attr-defined]
    doc = (
        f"Calls ``numpy.{name}`` on copies. Raises ValueError (ArgumentValueError) under\n"
        "``autograd.record()``, since no gradient flows through it."
    )
    return named(call, name, doc)


FALLBACKS = {name: _function(name, getattr(np, name)) for name in _NAMES} | {
    name: _function(name, function) for name, function in _RENAMED.items()
}
LINALG_FALLBACKS = {name: _function(name, getattr(np.linalg, name)) for name in _LINALG}
