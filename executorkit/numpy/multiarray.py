"""``mx.np.ndarray``: NumPy's face of the same storages, views, pending values and gradients."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np

from ..arrays.values import to_device
from ..context import Context, current_context
from ..errors import ArgumentValueError, InputTypeError, ShapeError
from ..ndarray import NDArray
from ..ndarray.array_classes import call_operator as call_on_arrays
from ..ops import OpDef
from ..ops.schema.operator_modules import OPERATOR_METHODS
from . import _composed_functions as functions
from ._methods import NumpyMethods
from ._protocols import array_function, array_ufunc
from ._ufuncs import BINARY, UFUNCS
from .utils import Binary, check_order, is_numpy

__all__ = ["ndarray"]


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    binary: Binary = BINARY[name]
    return lambda self, other: binary(self, other, self)


class ndarray(NumpyMethods, NDArray):  # noqa: N801 - NumPy's name
    """A mutable array with NumPy's semantics: scalars of shape (), empty axes, boolean masks.

    Created by ``np.array``, ``np.zeros``, ... . Basic slices of contiguous elements, ``detach`` and
    ``as_nd_ndarray`` are views; all else is a copy. Types are promoted as in MXNet: integers plus
    float32 are float32, and ``array + 1.5`` keeps the array's type.

    >>> import executorkit as mx
    >>> x = mx.np.arange(6).reshape(2, 3)
    >>> x[x > 3], x.sum(), x[0, 1].shape
    (array([4., 5.]), array(15.), ())
    """

    __slots__ = ()
    has_scalars = True

    @staticmethod
    def numpy_call(op: OpDef, func_name: str, arrays: tuple[Any, ...], attrs: Any) -> Any:
        """Runs an operator on arrays."""
        return call_on_arrays(ndarray, op, func_name, arrays, attrs)

    @classmethod
    def from_host(cls, values: np.ndarray, context: Context | None = None) -> Self:
        """Returns an array of a NumPy array that is not written to elsewhere."""
        context = current_context() if context is None else context
        return cls.from_jax(to_device(values, context.device), context, shared=False)

    def as_nd_ndarray(self) -> Any:
        """Returns the same elements as an NDArray, in the same graph."""
        return self.shown_as(NDArray)

    def as_np_ndarray(self) -> Self:
        """Returns the array itself."""
        return self

    # Parts

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, NDArray) and not is_numpy(value):
            problem = "an NDArray is assigned to an array of mx.np"
            raise InputTypeError("np.ndarray", problem, hint="value.as_np_ndarray()")
        super().__setitem__(key, value)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(self._shape[0] if self._shape else 0))

    def item(self, *args: Any) -> Any:
        """Returns one element as a Python number: the only one, or the one with this number or
        index."""
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """Returns the elements as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def __float__(self) -> float:
        return float(self._one())

    def __int__(self) -> int:
        return int(self._one())

    def _one(self) -> Any:
        if self.size != 1:
            raise TypeError("only arrays of one element can be converted to Python scalars")
        return self.asnumpy().item()

    def __index__(self) -> int:
        return operator.index(self._one())

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ShapeError("bool", f"an array of shape {self.shape} is neither true nor false")
        return bool(self.size and self._one())

    __nonzero__ = __bool__

    # Shapes, types, copies

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        """The element type, as NumPy's dtype."""
        return np.dtype(self.storage.dtype)

    def reshape_view(self, *shape: Any, **kwargs: Any) -> Self:
        """Returns a view of the elements in another shape, given as for ``NDArray.reshape``."""
        return self.as_nd_ndarray().reshape(*shape, **kwargs).as_np_ndarray()

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> Self:  # fmt: skip
        """Returns the elements in another dtype: a copy, or with ``copy=False`` maybe the array
        itself. The other arguments have their defaults."""
        if order != "K" or casting != "unsafe" or not subok:
            problem = "order, casting and subok have their defaults alone"
            raise ArgumentValueError("astype", problem)
        return super().astype(dtype, copy)

    def copy(self, order: str = "C") -> Self:
        """Returns a new array of the same contents on the same device. ``order`` is 'C'."""
        check_order("copy", order)
        return super().copy()

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        """Sorts along ``axis``, in place."""
        self[...] = functions.sort(self, axis, kind, order)

    # Printed form

    def __repr__(self) -> str:
        host = self.asnumpy()
        text = np.array2string(host, separator=", ", prefix="array(") if host.size else "[]"
        parts = [text]
        if not host.size and host.shape != (0,):
            parts.append(f"shape={host.shape}")
        if self.dtype not in (np.float32, np.bool_):
            parts.append(f"dtype={self.dtype.name}")
        if self._context.device_type != "cpu":
            parts.append(f"ctx={self._context}")
        return f"array({', '.join(parts)})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        if not self._shape:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"an array of shape {self._shape} has no format {spec!r}")
        return str(self)

    # Python's operators; augmented assignment writes into the array itself

    __iadd__, __isub__ = _in_place("add"), _in_place("subtract")
    __imul__, __imod__ = _in_place("multiply"), _in_place("mod")
    __idiv__ = __itruediv__ = _in_place("true_divide")
    __iand__, __ior__ = _in_place("bitwise_and"), _in_place("bitwise_or")
    __ixor__ = _in_place("bitwise_xor")
    __hash__ = object.__hash__

    def __matmul__(self, other: Any) -> Self:
        return functions.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Self:
        return functions.matmul(other, self)

    def __imatmul__(self, other: Any) -> Self:
        return functions.matmul(self, other, self)

    def __neg__(self) -> Self:
        return UFUNCS["negative"](self * 1 if self.dtype == bool else self)

    def __invert__(self) -> Self:
        return UFUNCS["invert"](self)

    def __round__(self, n: int = 0) -> Self:
        return self.round(n or 0)

    def __floor__(self) -> Self:
        return UFUNCS["floor"](self)

    def __ceil__(self) -> Self:
        return UFUNCS["ceil"](self)

    def __trunc__(self) -> Self:
        return UFUNCS["trunc"](self)

    def __copy__(self) -> Self:
        return self.copy()

    # NumPy's functions on these arrays

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(ndarray, func, types, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(ndarray, ufunc, method, inputs, kwargs)


def _absent(name: str) -> Callable[..., NoReturn]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises AttributeError: NDArray alone has it."""
        raise AttributeError(f"mx.np.ndarray has no attribute {name!r}\n  try: np.{name}(x)")

    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    return method


_LEGACY = ("asscalar", "expand_dims", "slice_assign", "slice_assign_scalar", "split_v2", "tostype")
for _name in (*OPERATOR_METHODS, *_LEGACY):
    if _name not in vars(ndarray) and not hasattr(NumpyMethods, _name):
        setattr(ndarray, _name, _absent(_name))
ndarray.__module__ = __name__.rpartition(".")[0]


def __getattr__(name: str) -> Any:
    if name[:2] == "__":
        raise AttributeError(name)
    return getattr(sys.modules[ndarray.__module__], name)  # in MXNet all functions are here
