"""New arrays: from Python and NumPy values, filled, or counted up.

In all of them ``ctx`` is the device, by default the current context's, ``dtype`` anything that
NumPy accepts as one (float32 by default), ``shape`` a number or a sequence of numbers. Filled
arrays are made on the host, so that making one compiles nothing. A length of 0, and the shape (),
are unknown to ``zeros``, ``ones``, ``full`` and the random functions: ``full`` and the latter raise
MXNetError, except under ``mx.np_shape()``.
"""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .._support.annotations import DType
from ..arrays.storage import Shape
from ..arrays.values import (
    HOST_TYPES,
    check_known_shape,
    filled_on_host,
    fit,
    host_array,
    to_device,
)
from ..calls.ways import call, invoke, on_host
from ..context import Context, current_context
from ..errors import ArgumentValueError, InputTypeError, MXNetError, NotSupportedError, ShapeError
from ..ops import lookup
from ..ops.schema.attrs import Shape as AttrShape, make_attr
from ..ops.schema.calls import numpy_dtype_name
from ._ndarray import NDArray, element_type


def from_host(values: np.ndarray, ctx: Context | None = None) -> NDArray:
    """Returns an NDArray of a NumPy array that is not written to elsewhere."""
    context = _context(ctx)
    if context.device_typeid in HOST_TYPES:
        return on_host(NDArray, values, context)
    return NDArray.from_jax(to_device(values, context.device), context, shared=False)


def _context(ctx: Context | None) -> Context:
    if ctx is None:
        return current_context()
    if not isinstance(ctx, Context):
        raise MXNetError("ctx", f"{ctx!r} is not a context", hint="mx.cpu(0), mx.gpu(0)")
    return ctx


#: The reader of a shape that is given as a text.
_SHAPE = make_attr("shape", AttrShape, ())


def _dims(shape: Any) -> Shape:
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    elif isinstance(shape, str):
        shape = _SHAPE.read("shape", shape)
    if not isinstance(shape, Sequence):
        shape = (shape,)
    try:
        dims = tuple(operator.index(d) for d in shape)
    except TypeError:
        dims = (-1,)
    if any(d < 0 for d in dims):
        problem = f"{shape!r} is not a shape"
        raise ShapeError("shape", problem, hint="a tuple of numbers, none negative")
    return dims


def array(source_array: Any, ctx: Context | None = None, dtype: DType = None) -> NDArray:
    """Returns an NDArray with a copy of the elements of a number, list, NumPy array, ... or
    NDArray.

    ``dtype`` is by default an NDArray's (or ``jax.Array``'s) own, and otherwise float32, whatever
    NumPy's is. ``ctx`` defaults to the current context. TypeError for anything but a regular array
    of numbers.

    >>> array([[1, 2], [3, 4]]).dtype, array([1, 2], dtype="int32").asnumpy().tolist()
    (<class 'numpy.float32'>, [1, 2])
    """
    context = _context(ctx)
    if isinstance(source_array, NDArray | jax.Array):
        target = element_type(dtype, source_array.dtype)
        new = fit(source_array, source_array.shape, target, context.device, "array")
        return NDArray.from_jax(new.value, context, shared=new.shared)
    return from_host(host_array(source_array, element_type(dtype), "array"), context)


def from_numpy(
    ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray
) -> NDArray:
    """Returns an NDArray of class ``array_cls`` with a NumPy array's shape and dtype.

    ``zero_copy`` requires an array that is contiguous in C's order (ArgumentValueError for others)
    and makes it read-only, as in MXNet. The memory is not shared all the same: later changes of the
    result do not reach it.
    """
    if not isinstance(ndarray, np.ndarray):
        raise InputTypeError("from_numpy", f"a {type(ndarray).__name__}, expected a NumPy array")
    if zero_copy and not ndarray.flags.c_contiguous:
        hint = "numpy.ascontiguousarray(x), or zero_copy=False"
        raise ArgumentValueError("from_numpy", "the array is not contiguous", hint=hint)
    context = current_context()
    host = np.array(ndarray, element_type(ndarray.dtype))
    if zero_copy:
        ndarray.flags.writeable = False
    return array_cls.from_jax(to_device(host, context.device), context, shared=False)


class _Capsule:
    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(dlpack: Any) -> NDArray:
    """Returns a copy of an array with ``__dlpack__``, or of a capsule of CPU memory."""
    if hasattr(dlpack, "__dlpack__"):
        copied = jax.dlpack.from_dlpack(dlpack, copy=True)
        (device,) = copied.devices()
        return NDArray.from_jax(copied, Context(device.platform, device.id), shared=False)
    if type(dlpack).__name__ != "PyCapsule" or '"dltensor' not in repr(dlpack):
        problem = f"{dlpack!r} is not an unused DLPack capsule"
        raise InputTypeError("from_dlpack", problem, because="a capsule can be read once")
    return from_numpy(np.from_dlpack(_Capsule(dlpack)), zero_copy=False)


def to_dlpack_for_read(data: NDArray) -> Any:
    """Returns the contents as a DLPack capsule. Later writes to the array do not change it."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """Returns the contents as a DLPack capsule of the host's memory. The array has what others
    write there until it is next read or written to."""
    return data.to_dlpack_for_write()


def full(
    shape: Any, val: Any, ctx: Context | None = None, dtype: DType = np.float32, out: Any = None
) -> NDArray:
    """Returns an NDArray filled with ``val``: a number, or an array that broadcasts to ``shape``.
    ``out`` is filled instead of a new array."""
    if out is not None:
        out[:] = val
        return out
    dims = _dims(shape)
    if not dims:
        check_known_shape("full", dims)
    return _filled(dims, val, ctx, dtype)


def _filled(shape: Shape, value: Any, ctx: Context | None, dtype: DType) -> NDArray:
    context = _context(ctx)
    if isinstance(value, int | float) and context.device_typeid in HOST_TYPES:
        return on_host(NDArray, filled_on_host(value, shape, element_type(dtype)), context)
    fitted = fit(value, shape, element_type(dtype), context.device, "full")
    return NDArray.from_jax(fitted.value, context, shared=fitted.shared)


def zeros(
    shape: Any,
    ctx: Context | None = None,
    dtype: DType = None,
    stype: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """Returns an NDArray of zeros of ``shape``, of ``dtype`` float32 by default, on ``ctx``.

    ``out=`` is filled instead of a new array. ``stype`` is 'default': arrays are dense.

    >>> zeros((2, 2), dtype="int8").asnumpy().tolist()
    [[0, 0], [0, 0]]
    """
    _check_dense("zeros", stype)
    return _constant("zeros", shape, 0, ctx, dtype, kwargs)


def _check_dense(name: str, stype: str | None) -> None:
    if stype not in (None, "default"):
        raise NotSupportedError(name, f"storage type {stype!r} is not served", hint="'default'")


def ones(shape: Any, ctx: Context | None = None, dtype: DType = None, **kwargs: Any) -> NDArray:
    """Returns an NDArray of ones; arguments as for :func:`zeros`."""
    return _constant("ones", shape, 1, ctx, dtype, kwargs)


def _constant(
    name: str, shape: Any, value: int, ctx: Context | None, dtype: DType, kwargs: dict[str, Any]
) -> NDArray:
    out = kwargs.pop("out", None)
    kwargs = without_node_attributes(kwargs)
    if kwargs:
        raise MXNetError(name, f"unknown argument {', '.join(map(repr, kwargs))}")
    if out is not None:
        return full(shape, value, out=out)
    dims = _dims(shape)
    check_known_shape(name, dims)
    return _filled(dims, value, ctx, dtype)


def without_node_attributes(options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k != "name" and not k.startswith("__")}


def empty(
    shape: Any, ctx: Context | None = None, dtype: DType = None, stype: str | None = None
) -> NDArray:
    """Returns :func:`zeros` of the same arguments, of any shape: no memory is uninitialised."""
    _check_dense("empty", stype)
    return _filled(_dims(shape), 0, ctx, dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: DType = np.float32,
) -> NDArray:
    """Returns start, start + step, ... before stop, each ``repeat`` times; without a stop, up to
    ``start``. ``infer_range`` has no effect (MXNet uses it in symbols only). MXNetError for a range
    without numbers.

    >>> arange(1, 6, 2).asnumpy().tolist(), arange(2, repeat=2).asnumpy().tolist()
    ([1.0, 3.0, 5.0], [0.0, 0.0, 1.0, 1.0])
    """
    return _from_operator("_arange", ctx, dtype, start=start, stop=stop, step=step, repeat=repeat)


def eye(
    N: int,  # noqa: N803
    M: int = 0,  # noqa: N803
    k: int = 0,
    ctx: Context | None = None,
    dtype: DType = None,
    **kwargs: Any,
) -> NDArray:
    """Returns a matrix of N rows and M columns (M=0: N) with ones on diagonal ``k``."""
    dtype = element_type(dtype)
    return _from_operator("_eye", ctx, dtype, kwargs.pop("out", None), N=N, M=M, k=k, **kwargs)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: DType = np.float32,
) -> NDArray:
    """Returns ``num`` equally spaced numbers from start to stop, excluded without ``endpoint``."""
    attrs = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _from_operator("_linspace", ctx, dtype, **attrs)


def _from_operator(
    name: str, ctx: Context | None, dtype: DType, out: Any = None, **attrs: Any
) -> NDArray:
    op = lookup(name)
    assert op is not None, name
    attrs["dtype"] = numpy_dtype_name(dtype)
    return invoke(op, NDArray, (), attrs, out, _context(ctx))


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Moves axes of ``tensor`` from ``source`` to ``destination`` (numbers or sequences)."""
    sources, targets = ([int(a) for a in np.atleast_1d(axes)] for axes in (source, destination))
    ndim = tensor.ndim
    if len(sources) != len(targets):
        raise ShapeError("moveaxis", f"{len(sources)} source axes for {len(targets)} destinations")
    for axis in (*sources, *targets):
        if not -ndim <= axis < ndim:
            raise ShapeError("moveaxis", f"axis {axis} of an array of {ndim} axes")
    sources, targets = [s % ndim for s in sources], [t % ndim for t in targets]
    if len({*sources}) != len(sources) or len({*targets}) != len(targets):
        raise ShapeError("moveaxis", "an axis is named twice")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return call("transpose", tensor, axes=tuple(order))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Joins arrays along an axis; they agree in dtype and in all other axes. A single array is
    returned itself unless ``always_copy``."""
    if not isinstance(arrays, list | tuple) or not arrays:
        raise InputTypeError("concatenate", f"{arrays!r}, expected a list of NDArrays")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return call("Concat", *arrays, dim=axis, num_args=len(arrays))


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes into ``out`` (N, K) a 1 where row n has its index of ``indices`` (N,), else 0."""
    for name, x in (("indices", indices), ("out", out)):
        if not isinstance(x, NDArray):
            raise InputTypeError("onehot_encode", f"{name} is {x!r}, expected an NDArray")
    out[:] = call("one_hot", indices, depth=out.shape[1])
    return out


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> Any:
    """Returns the number of elements in each bin, and the edges of the bins.

    ``bins`` is their number, between ``range`` or the least and greatest element, or an NDArray of
    edges. As in MXNet, a number of bins without a range gives a tuple of float32 arrays, otherwise
    it is a list and counts are int64.
    """
    if isinstance(bins, NDArray):
        return call("_histogram", a, bins)
    if range is not None:
        return call("_histogram", a, bin_cnt=bins, range=range)
    counts, edges = np.histogram(a.asnumpy(), bins)
    return array(counts, a.context), array(edges, a.context)
