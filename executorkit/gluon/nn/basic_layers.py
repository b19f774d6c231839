"""``mx.gluon.nn.basic_layers``: MXNet's import path of dense layers, normalizations, containers."""

from .._block import Block as Block
from .._hybrid_block import HybridBlock as HybridBlock
from ._basic_layers import (
    Dense as Dense,
    Dropout as Dropout,
    Embedding as Embedding,
    Flatten as Flatten,
    HybridLambda as HybridLambda,
    Lambda as Lambda,
)
from ._containers import HybridSequential as HybridSequential, Sequential as Sequential
from ._normalization import (
    BatchNorm as BatchNorm,
    BatchNormReLU as BatchNormReLU,
    GroupNorm as GroupNorm,
    InstanceNorm as InstanceNorm,
    LayerNorm as LayerNorm,
    _BatchNorm as _BatchNorm,
)
from .activations import Activation as Activation
