"""The NDArray class: copies, shapes and printed forms.

Reading and writing by index is in ``_indexing``, arithmetic in ``_arithmetic``, conversions in
``_conversions``, operators as methods in ``_fluent``; the storage that views share in ``storage``.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np

from ..context import Context, cpu
from ..display import View, Viewed
from ..errors import InputTypeError, MXNetError, NotSupportedError, ShapeError, explain
from ..ops.schema.attrs import dtype_name
from ..ops.tensor.shape import resolve_shape
from ._arithmetic import Arithmetic
from ._conversions import Conversions
from ._eager import call
from ._handle import Handle
from ._indexing import Indexing
from .values import fit, to_device

if TYPE_CHECKING:
    # Its methods are made from the operators; none is known to a type checker.
    class Fluent(Handle):
        def __getattr__(self, name: str) -> Any: ...
else:
    from ._array_operators import Fluent


def element_type(dtype: Any, default: Any = np.float32) -> np.dtype:
    """The element type that a ``dtype`` argument names; TypeError for an unknown one."""
    if dtype is None:
        return np.dtype(default)
    try:
        # Python's int and float are NumPy's 64-bit types here, as in MXNet.
        name = np.dtype(dtype).name if not isinstance(dtype, int) else dtype
    except TypeError:
        name = dtype
    try:
        return jax.numpy.dtype(dtype_name(name))
    except MXNetError as error:
        raise TypeError(*error.args) from None


class NDArray(Arithmetic, Indexing, Conversions, Fluent, Viewed, Handle):
    """A mutable array of one element type in the memory of one device.

    Made by ``mx.nd.array``, ``zeros``, ... . Row slices, ``reshape`` and ``detach`` are views: a
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise InputTypeError(
            explain("NDArray", "it is not constructed directly", hint="mx.nd.array(...)")
        )

    def as_nd_ndarray(self) -> Self:
        """The array itself, which is a legacy NDArray already."""
        return self

    def tostype(self, stype: str) -> Self:
        """A copy if ``stype`` is 'default'. MXNetError (NotImplementedError) for sparse storage."""
        if stype != "default":
            raise NotSupportedError(
                explain("tostype", f"storage type {stype!r} is not served", hint="'default'")
            )
        return self.copy()

    # Copies and devices

    def copy(self) -> Self:
        """A new array of the same contents on the same device."""
        value = self.jax
        return self.from_jax(value, self._context)

    def copyto(self, other: NDArray | Context) -> Any:
        """Copies the contents into another array of the same shape, or to a context.

        Elements are converted to the other array's dtype. Returns the array written to; False,
        with a warning, if it is this one.
        """
        if isinstance(other, Context):
            value = fit(self, self._shape, self.storage.dtype, other.device, "copyto").value
            return self.from_jax(value, other)
        if not isinstance(other, NDArray):
            raise InputTypeError(
                explain("copyto", f"{other!r} is neither an NDArray nor a context")
            )
        if other is self:
            warnings.warn("an NDArray is copied to itself", RuntimeWarning, stacklevel=2)
            return False
        if other._shape != self._shape:
            raise ShapeError(
                explain("copyto", f"the target is {other._shape}, expected {self._shape}")
            )
        new = fit(self, self._shape, other.storage.dtype, other._context.device, "copyto")
        other.assign(*new)
        return other

    def as_in_context(self, context: Context) -> Self:
        """The array itself if it is in ``context``, else a copy there."""
        return self if context == self._context else self.copyto(context)

    as_in_ctx = as_in_context

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        """A new array with elements of ``dtype``; with ``copy=False`` maybe the array itself."""
        target = element_type(dtype)
        if not copy and target == self.storage.dtype:
            return self
        new = fit(self, self._shape, target, self._context.device, "astype")
        return self.from_jax(new.value, self._context, shared=new.shared)

    def detach(self) -> Self:
        """Another handle on the same elements."""
        return self.flat_view(self._shape)

    def wait_to_read(self) -> None:
        """Waits until the contents are computed; an error in the computation is raised here."""
        self.value.block_until_ready()

    # Shapes

    def reshape(self, *shape: Any, **kwargs: Any) -> Self:
        """The same elements in another shape: a view.

        Sizes are given one by one, or as a tuple, or as ``shape=``. 0 keeps an axis, -1 is what
        is left over, -2 keeps all remaining axes, -3 joins two, -4 splits one into the two sizes
        that follow. With ``reverse=True`` the shape is read from right to left.
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
        way = -1 if reverse else 1
        try:
            return self.flat_view(resolve_shape(self._shape[::way], spec[::way])[::way])
        except MXNetError as error:
            raise type(error)(explain("reshape", str(error))) from None

    @property
    def T(self) -> Self:  # noqa: N802
        """The array with its axes in reverse order: a copy."""
        return call("transpose", self)

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """The array repeated along axes of length 1, and new leading axes, to ``shape``."""
        new = fit(self, tuple(shape), self.storage.dtype, self._context.device, "broadcast_to")
        return self.from_jax(new.value, self._context, shared=new.shared)

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any = ()) -> Self:
        """Writes ``rhs`` into the part from ``begin`` to ``end``; returns the array itself."""
        steps = tuple(step) or (None,) * len(begin)
        self[tuple(slice(*range_) for range_ in zip(begin, end, steps, strict=True))] = rhs
        return self

    slice_assign_scalar = slice_assign

    def split_v2(
        self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False
    ) -> list[Self]:
        """``mx.nd.split_v2`` of this array."""
        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    # Gradients: not here

    @property
    def grad(self) -> None:
        """None: arrays carry no gradients here."""
        return None

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Not served: imperative gradients are not part of this package."""
        raise _no_autograd("attach_grad")

    def backward(
        self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Not served: imperative gradients are not part of this package."""
        raise _no_autograd("backward")

    # Printed form, pickling

    @property
    def writable(self) -> bool:
        """True: every array can be written to."""
        return True

    def __repr__(self) -> str:
        dims = "x".join(map(str, self._shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__} {dims} @{self._context}>"

    def _as_view(self) -> View:
        from .array_view import array_view

        return array_view(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.asnumpy(), self._context)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()


def _unpickle(cls: type[NDArray], host: np.ndarray, context: Context) -> NDArray:
    """On a machine without the device of old the array comes back on the CPU, as in MXNet."""
    try:
        device = context.device
    except MXNetError:
        context = cpu()
        device = context.device
    return cls.from_jax(to_device(host, device), context, shared=False)


def _no_autograd(what: str) -> NotSupportedError:
    return NotSupportedError(
        explain(
            what,
            "imperative gradients are not served",
            hint="bind a symbol with grad_req, or use jax.grad on symbol.to_jax()",
        )
    )


def split_v2(
    ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False
) -> Any:
    """An array in parts along an axis: so many equal ones, or cut before the given indices.

    ValueError if the axis does not divide into so many parts. With ``squeeze_axis`` the axis,
    of length 1 in each part, is dropped.
    """
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int | np.integer):
        sections = int(indices_or_sections)
        if length % sections:
            raise ShapeError(
                explain("split_v2", f"{sections} equal parts of axis {axis} of {ary.shape}")
            )
        return call(
            "_split_v2", ary, indices=(), axis=axis, squeeze_axis=squeeze_axis, sections=sections
        )
    cuts = (0, *indices_or_sections)
    return call("_split_v2", ary, indices=cuts, axis=axis, squeeze_axis=squeeze_axis)
