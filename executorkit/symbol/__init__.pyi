# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.symbol._symbol import Symbol
from .op import *
__all__ = ['Coverage', 'Group', 'Symbol', 'Variable', '_internal', 'arange', 'contrib', 'coverage', 'eye', 'full', 'histogram', 'hypot', 'image', 'linalg', 'linspace', 'load', 'load_json', 'maximum', 'minimum', 'ones', 'op', 'pow', 'power', 'random', 'sparse', 'split_v2', 'symbol', 'var', 'zeros']
from importlib import import_module
from typing import Any
from . import _internal as _internal, contrib as contrib, image as image, linalg as linalg, op as op, random as random, sparse as sparse, symbol as symbol, symbol_view as symbol_view
from ._coverage import Coverage as Coverage, coverage as coverage
from ._symbol import Symbol as Symbol
from ._symbol_creation import Group as Group, Variable as Variable, arange as arange, eye as eye, full as full, histogram as histogram, hypot as hypot, linspace as linspace, load as load, load_json as load_json, maximum as maximum, minimum as minimum, ones as ones, pow as pow, power as power, split_v2 as split_v2, var as var, zeros as zeros
from ._symbol_functions import symbol_module
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
