"""``mx.initializer`` (``mx.init``): initial values of parameters.

An initializer is called with a name (an :class:`InitDesc`) and an array, which it overwrites. The
end of the name ('weight', 'bias', 'gamma', ...) determines the numbers, unless the variable has its
own initializer: ``mx.sym.var("w", init=mx.init.One())``.

Random numbers come from ``mx.random``'s stream of the array's context, so ``mx.random.seed`` makes
them reproducible. NumPy draws them on the host: XLA would compile a program for every shape, which
takes far longer than drawing.
"""

from typing import TYPE_CHECKING

from ..errors import InitializerError
from ..unserved import attribute_getter as _attribute_getter
from ._compound_initializers import FusedRNN, Load, Mixed
from ._fixed_initializers import Bilinear, Constant, LSTMBias, One, Zero
from ._initializer import InitDesc, Initializer, alias, create, register
from ._random_initializers import MSRAPrelu, Normal, Orthogonal, Uniform, Xavier

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "InitializerError",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
