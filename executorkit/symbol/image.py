"""``mx.sym.image``: operators on images."""

from ._symbol_functions import symbol_module

__getattr__, __dir__ = symbol_module(globals(), "image")
