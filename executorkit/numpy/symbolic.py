"""``mx.sym.np``: the functions of ``mx.np`` on symbols.

The functions of ``mx.np`` take symbols, too; functions that make arrays make symbols here.
"""

from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from .._support.unserved import absent_attribute
from ..errors import NotImplementedForSymbol, ValueRangeError
from ..ops import OpDef
from ..symbol import Symbol
from . import random as _draws
from ._methods import NumpyMethods
from ._table import functions_of
from .utils import operator, plain

_CREATION = """
zeros(; shape, dtype='float32', order='C', ctx=None) _npi_zeros
ones(; shape, dtype='float32', order='C', ctx=None) _npi_ones
full(; shape, fill_value:value, dtype='float32', order='C', ctx=None) _npi_full
arange(; start, stop=None, step=1, dtype='float32', ctx=None) _npi_arange
eye(; N, M=None, k=0, dtype='float32', ctx=None) _npi_eye
linspace(; start, stop, num=50, endpoint=True, dtype='float32', ctx=None) _npi_linspace
logspace(; start, stop, num=50, endpoint=True, base=10.0, dtype='float32', ctx=None) _npi_logspace
indices(; dimensions, dtype='int32', ctx=None) _npi_indices
"""


class NumpySymbol(NumpyMethods, Symbol):
    """A symbol with the operators and methods of ``mx.np.ndarray``."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def numpy_call(op: OpDef, func_name: str, args: Any, attrs: Any) -> Any:
        """Adds an operator to the graph."""
        arguments = {k: v for k, v in attrs.items() if k != "out"}
        symbol = Symbol._call(op.name, func_name, args, arguments)
        heads = [NumpySymbol((entry,)) for entry in symbol.heads]
        return heads if len(heads) > 1 else heads[0]

    @staticmethod
    def _call(op: str, func_name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
        return NumpySymbol.numpy_call(operator(op), func_name, args, kwargs)

    def as_np_ndarray(self) -> Any:
        """Returns the symbol itself."""
        return self

    def __getitem__(self, index: Any) -> Any:
        """Returns the elements that integers and slices select."""
        if isinstance(index, str) or len(self.heads) > 1:
            return super().__getitem__(index)
        keys = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(k, int | slice) for k in keys):
            raise ValueRangeError(f"{self!r}", f"index {index!r}, expected integers and slices")
        ranges = [k if isinstance(k, slice) else slice(k, k + 1 or None, 1) for k in keys]
        begin, end, step = (tuple(getattr(r, n) for r in ranges) for n in ("start", "stop", "step"))
        part = self._call("slice", "slice", (self,), {"begin": begin, "end": end, "step": step})
        if all(isinstance(k, slice) for k in keys):
            return part
        kept = tuple(-2 if isinstance(k, slice) else -3 for k in keys)
        return self._call("_npx_reshape", "reshape", (part,), {"newshape": (*kept, -4)})

    def __neg__(self) -> Any:
        return self * -1.0

    def __len__(self) -> NoReturn:
        raise NotImplementedForSymbol("len")


_Symbol = NumpySymbol


def _create(op_name: str, name: str, arrays: Any, out: Any = None, **attrs: Any) -> Any:
    arguments = {k: plain(k, v) for k, v in attrs.items() if v is not None and k != "order"}
    return NumpySymbol.numpy_call(operator(op_name), name, (), arguments)


globals().update(functions_of(_CREATION, _create))


class _Random:
    """``mx.sym.np.random``: draws of ``mx.np.random``, without arrays too, as symbols."""

    def __getattr__(self, name: str) -> Any:
        return partial(_draws.run_symbolic, _create, getattr(_draws, name))


random = _Random()


def __getattr__(name: str) -> Any:
    arrays = import_module(__name__.rpartition(".")[0])
    if name.startswith("_") or not hasattr(arrays, name):
        raise AttributeError(absent_attribute(__name__, name))
    return getattr(arrays, name)
