"""The NDArray class: MXNet's mutable array."""

from __future__ import annotations

import ctypes
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakValueDictionary

import jax
import numpy as np

from .._support.annotations import DType
from ..arrays.handle import Handle
from ..arrays.storage import LazyContents, Shape, Storage
from ..arrays.values import filled, fit, to_device
from ..calls.recording import Variable, check_unrecorded, is_recorded, modes, new_variable
from ..calls.resolved_calls import call_of
from ..calls.ways import call
from ..context import Context, cpu
from ..display import Viewed
from ..errors import (
    ArgumentValueError,
    InputTypeError,
    MXNetError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    explain,
)
from ..ops.schema.attrs import dtype_name
from ..ops.schema.calls import numpy_dtype_name
from ..ops.tensor.shape import resolve_shape
from ..program import deferred_errors
from ._arithmetic import binary
from ._array_operators import operator_methods
from ._indexing import read_part, write_part


def element_type(dtype: DType, default: Any = np.float32) -> np.dtype:
    """Returns the element type that a ``dtype`` argument names; DTypeError (a TypeError) for an
    unknown one."""
    if dtype is None:
        return np.dtype(default)
    return jax.numpy.dtype(dtype_name(numpy_dtype_name(dtype)))


_Array = TypeVar("_Array", bound="NDArray")
#: A method for one of Python's operators of two.
_Operator = Callable[[_Array, Any], _Array]


def _operator(name: str) -> _Operator[_Array]:
    return lambda self, other: binary(name, self, other)


def _reflected(name: str) -> _Operator[_Array]:
    return lambda self, other: binary(name, other, self)


def _in_place(name: str) -> _Operator[_Array]:
    return lambda self, other: binary(name, self, other, self)


#: Arrays that ctypes has cast to handles, by number.
_CAST: WeakValueDictionary[int, Any] = WeakValueDictionary()


class NDArray(Viewed, Handle):
    """A mutable array of one element type in the memory of one device.

    Created by ``mx.nd.array``, ``zeros``, ... . Row slices, ``reshape`` and ``detach`` are views: a
    write through one is seen through the others. ``.jax`` is the contents as an immutable
    ``jax.Array``, ``asnumpy()`` a NumPy copy.

    >>> import executorkit as mx
    >>> x = mx.nd.zeros((2, 3))
    >>> x[0] = 7
    >>> x.reshape((3, 2))[0].asnumpy().tolist(), x.shape, x.context
    ([7.0, 7.0], (2, 3), cpu(0))
    """

    __slots__ = ()
    _text_is_repr = True

    if TYPE_CHECKING:  # methods made from the operators

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, handle: ctypes.c_void_p | None = None, writable: bool = True) -> None:
        if handle is not None:
            shown = _CAST.get(handle.value or 0) if isinstance(handle, ctypes.c_void_p) else None
            if shown is None:
                problem = "it is not constructed directly"
                raise InputTypeError("NDArray", problem, hint="mx.nd.array(...)")
            self.show(shown)
            return
        # Without contents, for MXNet's pickles: __setstate__ follows.
        self.show(_unpickle(type(self), np.zeros(0, np.float32), cpu()))

    # For ``NDArray(ctypes.cast(array, NDArrayHandle))``: so callbacks of MXNet's monitors make an
    # array of their argument, there a raw handle.
    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        _CAST[id(self)] = self
        return ctypes.c_void_p(id(self))

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key: Sequence[slice], shape: Shape) -> bool:
        ranges = [range(*k.indices(n)) for k, n in zip(slc_key, shape, strict=True)]
        if math.prod(map(len, ranges)) <= 1:
            return True
        whole = True
        for selected, length in zip(reversed(ranges), reversed(shape), strict=True):
            if len(selected) > 1 and (selected.step != 1 or not whole):
                return False
            whole = whole and len(selected) == length
        return True

    def as_nd_ndarray(self) -> Self:
        """Returns the array itself."""
        return self

    def as_np_ndarray(self) -> Any:
        """Returns the same elements as an array of ``mx.np``, in the same graph."""
        package = __name__.partition(".")[0]
        return self.shown_as(import_module(f"{package}.numpy").ndarray)

    def shown_as(self, cls: type[_Array]) -> _Array:
        """Returns a handle of another class on the same elements, in the same graph."""
        view = cls.from_storage(self.storage, self._offset, self._shape, self._context)
        view.graph_entry = self.graph_entry
        return view

    def tostype(self, stype: str) -> Self:
        """Returns a copy for ``stype`` 'default'; MXNetError (NotImplementedError) for sparse."""
        if stype != "default":
            problem = f"storage type {stype!r} is not served"
            raise NotSupportedError("tostype", problem, hint="'default'")
        return self.copy()

    # Parts

    def __getitem__(self, key: Any) -> Self:
        return read_part(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        write_part(self, key, value)

    def __len__(self) -> int:
        if not self._shape:
            raise ValueRangeError("NDArray", "an array without axes has no length")
        return self._shape[0]

    def __iter__(self) -> Iterator[Self]:
        for i in range(len(self)):
            yield self[i]

    # Copies and devices

    def copy(self) -> Self:
        """Returns a new array of the same contents on the same device."""
        if modes.recording and is_recorded(self):
            return call("_copy", self)
        return self.from_jax(self.jax, self._context)

    def copyto(self, other: NDArray | Context) -> Any:
        """Copies the contents into another array of the same shape, converted to its dtype, or to a
        context. Returns the array written to; False, with a warning, if it is this one."""
        recorded = modes.recording and is_recorded(self)
        if isinstance(other, Context):
            if recorded:
                return modes.recorder.record_copy(type(self), self, other)
            value = fit(self, self._shape, self.storage.dtype, other.device, "copyto").value
            return self.from_jax(value, other)
        if not isinstance(other, NDArray):
            raise InputTypeError("copyto", f"{other!r} is neither an NDArray nor a context")
        if other is self:
            warnings.warn("an NDArray is copied to itself", RuntimeWarning, stacklevel=2)
            return False
        if other.shape != self._shape:
            raise ShapeError("copyto", f"the target is {other.shape}, expected {self._shape}")
        if modes.recording:
            check_unrecorded(other)
        if recorded:
            modes.recorder.record_write(other, self, covers=True)
            return other
        other.assign(*fit(self, self._shape, other.storage.dtype, other.context.device, "copyto"))
        return other

    def as_in_context(self, context: Context) -> Self:
        """Returns the array itself if it is in ``context``, else a copy there."""
        return self if context == self._context else self.copyto(context)

    as_in_ctx = as_in_context

    def astype(self, dtype: DType, copy: bool = True) -> Self:
        """Returns a new array of ``dtype``; with ``copy=False`` maybe the array itself."""
        target = element_type(dtype)
        if not copy and target == self.storage.dtype:
            return self
        if modes.recording and is_recorded(self):
            return call("Cast", self, dtype=target.name)
        new = fit(self, self._shape, target, self._context.device, "astype")
        return self.from_jax(new.value, self._context, shared=new.shared)

    def detach(self) -> Self:
        """Returns another handle on the same elements, outside of graphs."""
        return self.flat_view(self._shape)

    def wait_to_read(self) -> None:
        """Waits until the contents are computed; an error in the computation is raised here."""
        self.storage.wait(self._offset, self._shape)
        if deferred_errors.open:
            deferred_errors.raise_for(self.value)

    # Shapes

    def reshape(self, *shape: Any, **kwargs: Any) -> Self:
        """Returns the same elements in another shape: a view.

        Sizes are given one by one, or as a tuple, or as ``shape=``. 0 keeps an axis, -1 is the
        quotient of the others, -2 keeps all remaining axes, -3 joins two, -4 splits one into the
        two sizes that follow. With ``reverse=True`` the shape is read from right to left.
        """
        reverse = kwargs.pop("reverse", False)
        named = kwargs.pop("shape", None)
        if kwargs:
            raise TypeError(f"reshape() got unexpected keywords: {', '.join(kwargs)}")
        spec = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if not shape:
            if named is None:
                raise TypeError("reshape() needs a shape")
            spec = named
        spec = tuple(operator.index(d) for d in spec)
        order = -1 if reverse else 1
        try:
            shape = resolve_shape(self._shape[::order], spec[::order])[::order]
        except MXNetError as error:
            raise type(error)(explain("reshape", str(error))) from None
        return self._viewed(shape, spec, reverse)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns the array as (rows, rest): a view if ``inplace``, else ``mx.nd.flatten``."""
        if inplace and self._shape:
            return self._viewed((self._shape[0], math.prod(self._shape[1:])))
        return call("Flatten", self, **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns the array with a new axis of length 1 at ``axis``: a view if ``inplace``, else
        ``mx.nd.expand_dims``. AssertionError (ArgumentValueError) for an axis out of range."""
        if not inplace:
            return call("expand_dims", self, axis=axis, **kwargs)
        (place,) = self._axes(axis, self.ndim + 1)
        return self._viewed((*self._shape[:place], 1, *self._shape[place:]))

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns the array without axes of length 1, all or the named ones: a view if ``inplace``,
        else ``mx.nd.squeeze``. An array of one element keeps one axis. AssertionError
        (ArgumentValueError) for an axis that is of another length, out of range or named twice."""
        if not inplace:
            return call("squeeze", self, axis=axis, **kwargs)
        axes = self._axes(axis, self.ndim) if axis is not None else range(self.ndim)
        dropped = {a for a in axes if axis is not None or self._shape[a] == 1}
        for a in dropped:
            if self._shape[a] != 1:
                raise ArgumentValueError("squeeze", f"axis {a} of {self._shape} is not of length 1")
        kept = tuple(d for a, d in enumerate(self._shape) if a not in dropped)
        return self._viewed(kept or (1,))

    def _viewed(self, shape: Shape, spec: Shape = (), reverse: bool = False) -> Self:
        view = self.flat_view(shape)
        if modes.recording and is_recorded(self):
            if not view.size:
                return call("_np_reshape", self, newshape=shape)
            if min(spec, default=1) > 0:
                # The same call for all sizes where axes are kept and the last one is the rest.
                same = [a == b for a, b in zip(shape, self._shape, strict=False)]
                kept = [*same, False].index(False)
                spec = (0,) * kept + ((-1,) if len(shape) == kept + 1 else shape[kept:])
                reverse = False
            attrs = {"shape": spec, "reverse": reverse} if reverse else {"shape": spec}
            modes.recorder.record_view(view, self, [call_of("Reshape", attrs)])
        return view

    def _axes(self, axis: Any, ndim: int) -> list[int]:
        axes = [operator.index(a) for a in (axis if isinstance(axis, Sequence) else (axis,))]
        if any(not -ndim <= a < ndim for a in axes):
            raise ArgumentValueError("axis", f"{axis} of an array of {self.ndim} axes")
        counted = [a % ndim for a in axes]
        if len({*counted}) != len(counted):
            raise ArgumentValueError("axis", f"{axis} names an axis twice")
        return counted

    @property
    def T(self) -> Self:  # noqa: N802
        """The array with its axes in reverse order: a copy. An array of one axis is itself."""
        return call("transpose", self) if len(self._shape) > 1 else self

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """Returns the array repeated along axes of length 1, and new leading axes, to ``shape``."""
        if modes.recording and is_recorded(self):
            axes = (1,) * (len(shape) - self.ndim)
            array = self._viewed((*axes, *self._shape)) if axes else self
            return call("broadcast_to", array, shape=tuple(shape))
        new = fit(self, tuple(shape), self.storage.dtype, self._context.device, "broadcast_to")
        return self.from_jax(new.value, self._context, shared=new.shared)

    def broadcast_like(self, other: NDArray) -> Self:
        """Returns the array repeated along axes of length 1, and new leading axes, to the shape of
        ``other``."""
        return self.broadcast_to(other.shape)

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any = ()) -> Self:
        """Writes ``rhs`` into the part from ``begin`` to ``end``; returns the array itself."""
        steps = tuple(step) or (None,) * len(begin)
        self[tuple(slice(*range_) for range_ in zip(begin, end, steps, strict=True))] = rhs
        return self

    slice_assign_scalar = slice_assign

    def split_v2(
        self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False
    ) -> list[Self]:
        """Splits this array, as ``mx.nd.split_v2`` of the same arguments."""
        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    # Gradients

    @property
    def grad(self) -> Self | None:
        """The array that ``backward`` writes the gradient to; None before ``attach_grad``."""
        entry = self.graph_entry
        return entry.grad if entry.__class__ is Variable else None

    @property
    def _fresh_grad(self) -> bool:
        entry = self.graph_entry
        return entry.__class__ is Variable and entry.is_fresh

    @_fresh_grad.setter
    def _fresh_grad(self, state: bool) -> None:
        entry = self.graph_entry
        if entry.__class__ is Variable:
            entry.is_fresh = bool(state)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Makes the array a variable: ``backward`` writes its gradient to ``grad``, a new array of
        zeros.

        grad_req
            'write', 'add' (to the contents of ``grad``) or 'null' (none is computed).
        stype
            'default': gradients are dense.

        Gradients do not go on to the calls that computed the array.
        """
        if stype not in (None, "default"):
            if stype not in ("row_sparse", "csr"):
                raise ArgumentValueError("attach_grad", f"storage type {stype!r} is unknown")
            problem = f"storage type {stype!r} is not served"
            raise NotSupportedError("attach_grad", problem, hint="'default'")
        dtype, device = self.storage.dtype, self._context.device
        storage = Storage.lazy(self._shape, dtype, partial(filled, 0, self._shape, dtype, device))
        grad = self.from_storage(storage, 0, self._shape, self._context)
        self.graph_entry = new_variable("attach_grad", self, grad, grad_req)

    def backward(
        self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Computes the gradients of the variables that this array was computed from, under
        ``autograd.record()``; see :func:`executorkit.autograd.backward`."""
        modes.recorder.backward([self], [out_grad], retain_graph, train_mode)

    # Numbers, NumPy, JAX and DLPack

    def asscalar(self) -> Any:
        """Returns the one element, as a NumPy scalar; ValueError if there are more or fewer."""
        if self.size != 1:
            raise ShapeError("asscalar", f"an array of shape {self.shape} is not one element")
        return self.asnumpy().reshape(())[()]

    def item(self) -> Any:
        """Returns the one element as a Python number; ValueError if there are more or fewer."""
        return self.asscalar().item()

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ShapeError("bool", f"an array of shape {self.shape} is neither true nor false")
        return bool(self.size and self.asscalar())

    __nonzero__ = __bool__

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if self.ndim > 1 or self.size != 1:
            raise InputTypeError("index", f"an array of shape {self.shape} is not an integer")
        return operator.index(self.asscalar())

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        """Returns the contents for NumPy: a copy, or a read-only view with ``copy=False``."""
        if copy is False:
            return np.asarray(self.jax, dtype=dtype, copy=False)
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype, copy=False)

    def __jax_array__(self) -> jax.Array:
        return self.jax

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.jax.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        value: Any = self.jax
        return value.__dlpack_device__()

    def to_dlpack_for_read(self) -> Any:
        """Returns the contents as a DLPack capsule. Later writes to this array do not change it."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> Any:
        """Returns the contents as a DLPack capsule of the host's memory. This array has what others
        write there until it is next read or written to."""
        storage, device = self.storage, self._context.device
        memory = np.array(storage.value)
        storage.defer(LazyContents(lambda: to_device(memory.copy(), device)))
        return self._part_of(memory).__dlpack__()

    # Printed form, pickling

    @property
    def writable(self) -> bool:
        """True: every array can be written to."""
        return True

    def __repr__(self) -> str:
        dims = "x".join(map(str, self._shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__} {dims} @{self._context}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.asnumpy(), self._context)

    def __setstate__(self, state: Any) -> None:
        """Restores a pickle of MXNet's, whose 'handle' has bytes as in a ``.params`` file."""
        handle = state["handle"]
        if handle is not None:
            (read,) = _record_readers
            self.show(read(bytes(handle)))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    # Arithmetic and comparison; augmented assignment writes into the array itself

    #: NumPy's arrays and scalars leave ``a + x`` to the NDArray x.
    __array_priority__ = 1000.0

    __add__ = __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__ = __rmul__ = _operator("multiply")
    __div__ = __truediv__ = _operator("divide")
    __rdiv__ = __rtruediv__ = _reflected("divide")
    __mod__, __rmod__ = _operator("modulo"), _reflected("modulo")
    __pow__, __rpow__ = _operator("power"), _reflected("power")
    __iadd__, __isub__ = _in_place("add"), _in_place("subtract")
    __imul__, __imod__ = _in_place("multiply"), _in_place("modulo")
    __idiv__ = __itruediv__ = _in_place("divide")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __lt__, __le__ = _operator("lesser"), _operator("lesser_equal")

    def __neg__(self) -> Self:
        return call("negative", self * 1 if self.storage.dtype == bool else self)

    def __abs__(self) -> Self:
        return call("abs", self)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return binary("equal", self, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return binary("not_equal", self, other)

    __hash__ = object.__hash__


for _name, _method in operator_methods().items():
    setattr(NDArray, _name, _method)


#: The reader of one array's bytes, which ``params_file`` is.
_record_readers: list[Callable[[bytes], NDArray]] = []


def reads_records(function: Callable[[bytes], NDArray]) -> Callable[[bytes], NDArray]:
    _record_readers[:] = [function]
    return function


def _unpickle(cls: type[NDArray], host: np.ndarray, context: Context) -> NDArray:
    try:
        device = context.device
    except MXNetError:
        context = cpu()
        device = context.device
    return cls.from_jax(to_device(host, device), context, shared=False)


def split_v2(
    ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False
) -> Any:
    """Splits an array along an axis into a number of equal parts, or before the given indices.

    ValueError if the axis does not divide into that many parts. With ``squeeze_axis`` the axis, of
    length 1 in each part, is dropped.
    """
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int | np.integer):
        sections = int(indices_or_sections)
        if length % sections:
            raise ShapeError("split_v2", f"{sections} equal parts of axis {axis} of {ary.shape}")
        return call(
            "_split_v2", ary, indices=(), axis=axis, squeeze_axis=squeeze_axis, sections=sections
        )
    cuts = (0, *indices_or_sections)
    return call("_split_v2", ary, indices=cuts, axis=axis, squeeze_axis=squeeze_axis)
