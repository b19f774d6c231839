"""``mx.initializer`` (``mx.init``): what parameters are before training.

An initialiser is called with a name (an :class:`InitDesc`) and an array, which it overwrites. Which
numbers it writes follows from the end of the name ('weight', 'bias', 'gamma', ...), unless the
variable names its own initialiser: ``mx.sym.var("w", init=mx.init.One())``.

Random numbers come from ``mx.random``'s stream of the array's context, so ``mx.random.seed`` makes
them repeat. They are drawn by NumPy on the host: drawing by XLA would compile a program for every
shape, which takes far longer than drawing does.
"""

from ..errors import InitializerError
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
