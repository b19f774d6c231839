"""MXNet's import path of Gluon's blocks."""

from collections.abc import Sequence
from typing import Any

from ._block import Block as Block, BlockScope as _BlockScope  # noqa: F401 - MXNet's name
from ._hybrid_block import HybridBlock as HybridBlock
from ._symbol_block import SymbolBlock as SymbolBlock
from ._traced_graph import flatten as _flatten, regroup  # noqa: F401 - MXNet's name
from .parameter import (
    DeferredInitializationError as DeferredInitializationError,
    Parameter as Parameter,
    ParameterDict as ParameterDict,
)
from .utils import HookHandle as HookHandle


def _regroup(args: Sequence[Any], fmt: Any) -> Any:
    return regroup(args, fmt)[0]
