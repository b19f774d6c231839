"""``mx.gluon``: networks as Python objects, on recorded graphs.

The model zoo of Gluon is not served.
"""

from typing import NoReturn

from .._support.unserved import ELSEWHERE
from ..errors import (
    DeferredInitializationError as DeferredInitializationError,
    MissingDependencyError,
)
from . import (
    _block_view as _block_view,
    block as block,
    contrib as contrib,
    data as data,
    loss as loss,
    nn as nn,
    parameter as parameter,
    rnn as rnn,
    trainer as trainer,
    utils as utils,
)
from ._block import Block as Block
from ._hybrid_block import HybridBlock as HybridBlock
from ._parameter import Constant as Constant, Parameter as Parameter, tensor_types as tensor_types
from ._parameter_dict import ParameterDict as ParameterDict
from ._symbol_block import SymbolBlock as SymbolBlock
from .trainer import Trainer as Trainer


def __getattr__(name: str) -> NoReturn:
    path = f"gluon.{name}"
    if path not in ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    problem = "this part of Gluon is not served"
    raise MissingDependencyError(path, problem, hint=ELSEWHERE[path])
