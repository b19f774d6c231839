"""MXNet's import path of Gluon's blocks."""

from ._block import Block as Block
from ._hybrid_block import HybridBlock as HybridBlock
from ._symbol_block import SymbolBlock as SymbolBlock
from .parameter import (
    DeferredInitializationError as DeferredInitializationError,
    Parameter as Parameter,
    ParameterDict as ParameterDict,
)
from .utils import HookHandle as HookHandle
