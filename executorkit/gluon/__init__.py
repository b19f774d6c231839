"""``mx.gluon``: networks as Python objects, on recorded graphs."""

from typing import TYPE_CHECKING

from .._support.lazy_modules import lazy_modules as _lazy_modules
from ..errors import DeferredInitializationError as DeferredInitializationError
from . import _block_view as _block_view, loss as loss, nn as nn, trainer as trainer, utils as utils
from ._block import Block as Block
from ._hybrid_block import HybridBlock as HybridBlock
from ._parameter import Constant as Constant, Parameter as Parameter, tensor_types as tensor_types
from ._parameter_dict import ParameterDict as ParameterDict
from ._symbol_block import SymbolBlock as SymbolBlock
from .trainer import Trainer as Trainer

if TYPE_CHECKING:
    from . import (
        block as block,
        contrib as contrib,
        data as data,
        model_zoo as model_zoo,
        parameter as parameter,
        rnn as rnn,
    )
else:
    __getattr__, __dir__ = _lazy_modules(__name__)
