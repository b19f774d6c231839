"""``mx.sym.linalg``: linear algebra, as ``gemm2``."""

from ._symbol_functions import symbol_module

__getattr__, __dir__ = symbol_module(globals(), "linalg")
