"""``mx.sym.image``: operators on images."""

from ._symbol_functions import operators_of

__getattr__, __dir__ = operators_of(globals(), "image")
