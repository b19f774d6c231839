"""``mx.gluon.nn``: layers, and containers of them.

    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, activation="relu"), mx.gluon.nn.Dense(10))

Parameters, their names and order, and the graphs of layers are MXNet's.
"""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from .._block import Block as Block
from .._hybrid_block import HybridBlock as HybridBlock
from .._symbol_block import SymbolBlock as SymbolBlock
from . import activations as activations, basic_layers as basic_layers, conv_layers as conv_layers
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
)
from .activations import (
    ELU as ELU,
    GELU as GELU,
    SELU as SELU,
    Activation as Activation,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    Swish as Swish,
)
from .conv_layers import (
    AvgPool1D as AvgPool1D,
    AvgPool2D as AvgPool2D,
    AvgPool3D as AvgPool3D,
    Conv1D as Conv1D,
    Conv1DTranspose as Conv1DTranspose,
    Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose,
    Conv3D as Conv3D,
    Conv3DTranspose as Conv3DTranspose,
    GlobalAvgPool1D as GlobalAvgPool1D,
    GlobalAvgPool2D as GlobalAvgPool2D,
    GlobalAvgPool3D as GlobalAvgPool3D,
    GlobalMaxPool1D as GlobalMaxPool1D,
    GlobalMaxPool2D as GlobalMaxPool2D,
    GlobalMaxPool3D as GlobalMaxPool3D,
    MaxPool1D as MaxPool1D,
    MaxPool2D as MaxPool2D,
    MaxPool3D as MaxPool3D,
    ReflectionPad2D as ReflectionPad2D,
)

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
