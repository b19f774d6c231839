"""``mx.initializer`` (``mx.init``): initial values of parameters.

An initializer is called with a name (an :class:`InitDesc`) and an array, which it overwrites. The
end of the name ('weight', 'bias', 'gamma', ...) determines the numbers, unless the variable has its
own initializer: ``mx.sym.var("w", init=mx.init.One())``.

Random numbers come from ``mx.random``'s stream of the array's context, so ``mx.random.seed`` makes
them reproducible. NumPy draws them on the host: XLA would compile a program for every shape, which
takes far longer than drawing.
"""

from typing import TYPE_CHECKING

from .. import random as random
from .._support.unserved import attribute_getter as _attribute_getter
from ..errors import InitializerError as InitializerError
from ._compound_initializers import FusedRNN as FusedRNN, Load as Load, Mixed as Mixed
from ._fixed_initializers import (
    Bilinear as Bilinear,
    Constant as Constant,
    LSTMBias as LSTMBias,
    One as One,
    Zero as Zero,
)
from ._initializer import (
    InitDesc as InitDesc,
    Initializer as Initializer,
    alias as alias,
    create as create,
    register as register,
)
from ._random_initializers import (
    MSRAPrelu as MSRAPrelu,
    Normal as Normal,
    Orthogonal as Orthogonal,
    Uniform as Uniform,
    Xavier as Xavier,
)

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
