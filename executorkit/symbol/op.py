"""``mx.sym.op``: the same operators as in ``mx.sym``."""

from ._symbol_functions import symbol_module

__getattr__, __dir__ = symbol_module(globals(), "op")
