"""``mx.sym.op``: the operators that also stand in ``mx.sym`` itself."""

from ._symbol_functions import operators_of

__getattr__, __dir__ = operators_of(globals(), "op")
