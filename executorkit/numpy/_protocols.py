"""NumPy's functions on arrays of ``mx.np``: ``mx.np``'s own where it has one, otherwise NumPy's on
copies, which is not recorded."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..calls.recording import modes
from ..errors import ArgumentValueError
from ..ndarray import NDArray


def to_host(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy()
    if isinstance(value, list | tuple):
        return type(value)(map(to_host, value))
    return value


def from_host(cls: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return cls.from_host(np.array(value))
    if isinstance(value, list | tuple):
        parts = [from_host(cls, x) for x in value]
        return parts if type(value) is list else tuple(parts)
    return value


def on_host(cls: Any, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a function of NumPy on copies. ValueError (ArgumentValueError) under ``record()``."""
    if modes.recording:
        problem = "it is NumPy's own function, through which no gradient flows"
        raise ArgumentValueError(f"np.{name}", problem, hint="call it outside autograd.record()")
    kwargs = {key: to_host(value) for key, value in kwargs.items()}
    return from_host(cls, function(*map(to_host, args), **kwargs))


def _own(name: Any) -> Any:
    module, _, last = name.rpartition(".")
    package = sys.modules[__name__.rpartition(".")[0]]
    return getattr(getattr(package, module) if module else package, last, None)


def array_function(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if not all(issubclass(t, NDArray) or t is np.ndarray for t in types):
        return NotImplemented
    module = "linalg." if func.__module__ == "numpy.linalg" else ""
    own = _own(module + func.__name__)
    if own is None or any(t is np.ndarray for t in types):
        return on_host(cls, func.__name__, func, args, kwargs)
    return own(*args, **kwargs)


def array_ufunc(cls: Any, ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    own = _own({"divide": "true_divide"}.get(ufunc.__name__, ufunc.__name__))
    # NumPy's numbers come as arrays without axes where they are compared.
    inputs = [x[()] if type(x) is np.ndarray and not x.ndim else x for x in inputs]
    if method == "__call__" and own is not None and not hasattr(own, "on_host"):
        out = kwargs.pop("out", None)
        if out is not None:
            kwargs["out"] = out[0] if isinstance(out, tuple) else out
        return own(*inputs, **kwargs)
    if any(isinstance(x, NDArray) and x.ndim for x in inputs):  # numbers do not widen arrays
        inputs = [x.item() if isinstance(x, np.generic) else x for x in inputs]
    return on_host(cls, ufunc.__name__, getattr(ufunc, method), inputs, kwargs)
