"""Operators whose names begin with an underscore: ``mx.sym._internal._plus_scalar``."""

from ._symbol_functions import symbol_module

__getattr__, __dir__ = symbol_module(globals(), "_internal")
