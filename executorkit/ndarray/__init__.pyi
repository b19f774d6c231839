# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
from .op import *
__all__ = ['NDArray', 'add', 'arange', 'array', 'clear_eager_cache', 'concatenate', 'contrib', 'divide', 'eager_cache_info', 'empty', 'equal', 'eye', 'from_dlpack', 'from_numpy', 'full', 'greater', 'greater_equal', 'histogram', 'image', 'lesser', 'lesser_equal', 'linalg', 'linspace', 'load', 'load_frombuffer', 'logical_and', 'logical_or', 'logical_xor', 'maximum', 'minimum', 'modulo', 'moveaxis', 'multiply', 'ndarray', 'not_equal', 'onehot_encode', 'ones', 'op', 'power', 'random', 'save', 'sparse', 'split_v2', 'subtract', 'to_dlpack_for_read', 'to_dlpack_for_write', 'true_divide', 'utils', 'waitall', 'zeros']
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any
from ..arrays.pending import waitall as waitall
from ..calls.ways import clear_eager_cache as clear_eager_cache, eager_cache_info as eager_cache_info
from . import _internal as _internal, array_view as _array_view, contrib as contrib, image as image, linalg as linalg, ndarray as ndarray, op as op, random as random, sparse as sparse, utils as utils
from ._arithmetic import add as add, divide as divide, equal as equal, greater as greater, greater_equal as greater_equal, lesser as lesser, lesser_equal as lesser_equal, logical_and as logical_and, logical_or as logical_or, logical_xor as logical_xor, maximum as maximum, minimum as minimum, modulo as modulo, multiply as multiply, not_equal as not_equal, power as power, subtract as subtract, true_divide as true_divide
from ._array_operators import array_module as _array_module
from ._creation import arange as arange, array as array, concatenate as concatenate, empty as empty, eye as eye, from_dlpack as from_dlpack, from_numpy as from_numpy, full as full, histogram as histogram, linspace as linspace, moveaxis as moveaxis, onehot_encode as onehot_encode, ones as ones, to_dlpack_for_read as to_dlpack_for_read, to_dlpack_for_write as to_dlpack_for_write, zeros as zeros
from ._ndarray import NDArray as NDArray, split_v2 as split_v2
from .params_file import load as load, load_frombuffer as load_frombuffer, save as save
def __getattr__(name: str) -> _Callable[..., _Any]: ...
