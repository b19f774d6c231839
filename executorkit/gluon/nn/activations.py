"""``mx.gluon.nn.activations``: MXNet's import path of activations."""

from .._hybrid_block import HybridBlock as HybridBlock
from ._activations import (
    ELU as ELU,
    GELU as GELU,
    SELU as SELU,
    Activation as Activation,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    Swish as Swish,
)
