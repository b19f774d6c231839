"""Operators whose names begin with an underscore: ``mx.sym._internal._plus_scalar``."""

from ._symbol_functions import operators_of

__getattr__, __dir__ = operators_of(globals(), "_internal")
