"""``mx.gluon``: networks as Python objects, on recorded graphs."""

from typing import TYPE_CHECKING

from .._support.unserved import attribute_getter as _attribute_getter
from ..errors import DeferredInitializationError as DeferredInitializationError
from . import (
    _block_view as _block_view,
    block as block,
    contrib as contrib,
    data as data,
    loss as loss,
    model_zoo as model_zoo,
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

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
