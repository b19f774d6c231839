"""New arrays of ``mx.np``: from values, filled, or counted up. float32 unless ``dtype`` or the
source says otherwise; filled arrays are made on the host, so that making one compiles nothing."""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..arrays.storage import Shape
from ..arrays.values import check_known_shape, filled, fit, host_array
from ..context import Context, current_context
from ..errors import ArgumentValueError, MXNetError, NotSupportedError, ShapeError
from ..ndarray import NDArray
from ..ndarray.array_classes import element_type
from ..ops.schema.operator_registry import named
from .multiarray import ndarray
from .utils import check_order


def context_of(ctx: Any) -> Context:
    if ctx is None:
        return current_context()
    if not isinstance(ctx, Context):
        raise MXNetError("ctx", f"{ctx!r} is not a context", hint="npx.cpu(0), npx.gpu(0)")
    return ctx


def sizes_of(name: str, shape: Any) -> Shape:
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    try:
        return tuple(map(operator.index, shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        raise ShapeError(f"np.{name}", f"{shape!r} is not a shape") from None


def dims_of(name: str, shape: Any) -> Shape:
    dims = sizes_of(name, shape)
    check_known_shape(f"np.{name}", dims)
    return dims


def array(object: Any, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Returns a copy of a number, nested lists, a NumPy array, an NDArray, ... An array keeps its
    dtype; all else is float32 unless ``dtype`` is given."""
    context = context_of(ctx)
    if isinstance(object, NDArray):
        source = object.as_np_ndarray()
        result = source.astype(dtype or source.dtype).as_in_ctx(context)
        return result.copy() if result is source else result
    if isinstance(object, list | tuple) and any(isinstance(x, NDArray) for x in object):
        object = [x.asnumpy() if isinstance(x, NDArray) else x for x in object]
    own = object.dtype if isinstance(object, np.ndarray | np.generic | jax.Array) else None
    host = host_array(object, element_type(own if dtype is None else dtype), "np.array")
    return ndarray.from_host(host, context)


def _filled(name: str, shape: Any, number: Any, dtype: Any, order: str, ctx: Any) -> ndarray:
    check_order(f"np.{name}", order)
    context, dims = context_of(ctx), dims_of(name, shape)
    value = filled(number, dims, element_type(dtype), context.device)
    return ndarray.from_jax(value, context, shared=False)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> ndarray:
    """Returns zeros of ``shape``, a number or a sequence of them, and ``dtype`` (float32) on
    ``ctx``. ``order`` is 'C'."""
    return _filled("zeros", shape, 0, dtype, order, ctx)


def ones(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> ndarray:
    """Returns ones; the arguments are as for :func:`zeros`."""
    return _filled("ones", shape, 1, dtype, order, ctx)


def empty(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> ndarray:
    """Returns :func:`zeros` of the same arguments: no memory is uninitialised."""
    return _filled("empty", shape, 0, dtype, order, ctx)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None,
    out: Any = None,
) -> ndarray:  # fmt: skip
    """Returns an array filled with ``fill_value``, a number or an array that broadcasts to
    ``shape``. ``dtype`` is bool for a bool, otherwise float32 by default; ``ctx`` is the device,
    ``order`` 'C'. ``out`` is filled instead, if it is given."""
    if out is not None:
        out[...] = fill_value
        return out
    if isinstance(fill_value, NDArray):
        kind = element_type(dtype, fill_value.dtype)
        context, dims = context_of(ctx), dims_of("full", shape)
        new = fit(fill_value, dims, kind, context.device, "np.full")
        return ndarray.from_jax(new.value, context, shared=new.shared)
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    return _filled("full", shape, fill_value, dtype, order, ctx)


def _on_host(values: np.ndarray, dtype: Any, ctx: Any) -> ndarray:
    return ndarray.from_host(values.astype(element_type(dtype)), context_of(ctx))


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, ctx: Any = None
) -> ndarray:
    """Returns start, start + step, ... before stop; from 0 to ``start`` without a stop. ``dtype``
    is float32 by default, ``ctx`` the device."""
    first, end = (0.0, start) if stop is None else (start, stop)
    step = 1.0 if step is None else float(step)
    return _on_host(np.arange(float(first), float(end), step), dtype, ctx)


def _spaced(name: str, start: Any, stop: Any, num: Any, *args: Any) -> Any:
    if not isinstance(num, int | np.integer) or num < 0:
        raise ArgumentValueError(f"np.{name}", f"num is {num!r}", hint="a number from 0 on")
    return getattr(np, name)(start, stop, num, *args)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, ctx: Any = None,
) -> Any:  # fmt: skip
    """Returns ``num`` evenly spaced numbers from start to stop (excluded without ``endpoint``), and
    the step with ``retstep``. ``dtype`` is float32 by default, ``axis`` 0, ``ctx`` the device."""
    if any(isinstance(x, list | np.ndarray | NDArray) for x in (start, stop)) or axis:
        raise NotSupportedError("np.linspace", "start and stop are numbers, and axis is 0")
    values, step = _spaced("linspace", start, stop, num, endpoint, True)
    result = _on_host(values, dtype, ctx)
    return (result, float(step)) if retstep else result


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0,
    dtype: Any = None, axis: int = 0, ctx: Any = None,
) -> ndarray:  # fmt: skip
    """Returns powers of ``base`` with ``num`` evenly spaced exponents from start to stop; the
    other arguments are as for :func:`linspace`."""
    if axis:
        raise NotSupportedError("np.logspace", "axis is 0")
    return _on_host(_spaced("logspace", start, stop, num, endpoint, base), dtype, ctx)


# ruff: noqa: N803 - NumPy's names


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = np.float32, **kwargs: Any
) -> ndarray:
    """Returns a matrix (N, M) with ones on diagonal ``k``; M is N by default."""
    if N < 0 or (M or 0) < 0:
        raise ShapeError(
            "np.eye", f"a matrix of {N} rows and {N if M is None else M} columns", hint="0 or more"
        )
    return _on_host(np.eye(N, M, k), dtype, kwargs.pop("ctx", None))


def identity(n: int, dtype: Any = None, ctx: Any = None) -> ndarray:
    """Returns a matrix (n, n) of ``dtype`` (float32) on ``ctx`` with ones on its diagonal."""
    return eye(n, dtype=dtype, ctx=ctx)


def indices(dimensions: Any, dtype: Any = np.int32, ctx: Any = None) -> ndarray:
    """Returns the index of each element of an array with these dimensions: (axes, *dimensions)."""
    if not isinstance(dimensions, list | tuple):
        raise ShapeError("np.indices", f"{dimensions!r} is not a shape", hint="a tuple")
    return _on_host(np.indices(dimensions), dtype, ctx)


def _window(name: str) -> Any:
    def function(M: int, dtype: Any = np.float32, ctx: Any = None) -> ndarray:
        return _on_host(getattr(np, name)(M), dtype, ctx)

    return named(function, name, f"Returns the {name} window of ``M`` numbers.")


blackman, hamming, hanning = map(_window, ("blackman", "hamming", "hanning"))


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """Returns the numbers in a text file, read by ``numpy.genfromtxt``."""
    return array(np.genfromtxt(*args, **kwargs))


def shape(a: Any) -> Shape:
    """Returns the lengths of the axes."""
    return a.shape if isinstance(a, NDArray) else np.shape(a)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Returns whether a write through one array is seen through the other."""
    return isinstance(a, NDArray) and isinstance(b, NDArray) and a.storage is b.storage


may_share_memory = shares_memory
