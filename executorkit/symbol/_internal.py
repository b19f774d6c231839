"""Operators whose names begin with an underscore: ``mx.sym._internal._plus_scalar``."""

from typing import Any, NoReturn

from ..errors import NotSupportedError
from ._symbol_functions import symbol_module


def _CachedOp(*data: Any, **kwargs: Any) -> NoReturn:  # noqa: N802
    problem, hint = (
        "a graph is not an operator here",
        "mx.nd.CachedOp(symbol), or the symbol itself",
    )
    raise NotSupportedError("mx.sym._internal._CachedOp", problem, hint=hint)


__getattr__, __dir__ = symbol_module(globals(), "_internal")
