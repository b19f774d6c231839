"""``mx.sym.op``: the operators that also stand in ``mx.sym`` itself."""

from ._symbol_functions import symbol_module

__getattr__, __dir__ = symbol_module(globals(), "op")
