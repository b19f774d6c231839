"""``mx.sym.linalg``: linear algebra, as ``gemm2``."""

from ._symbol_functions import operators_of

__getattr__, __dir__ = operators_of(globals(), "linalg")
