"""``mx.util``: the meaning of shapes, the class of arrays, environment variables, and small helpers
of scripts. Every thread has its own switches to NumPy's shapes and to the arrays of ``mx.np``."""

import functools
import inspect
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ._support.shape_semantics import numpy_arrays, numpy_shapes, set_numpy_arrays, set_numpy_shapes
from .context import Context, gpu_memory_info, num_gpus
from .errors import ArgumentValueError, InputTypeError, NotSupportedError

T = TypeVar("T")

#: The options of NumPy's universal functions, with the value that MXNet's functions accept.
_UFUNC_OPTIONS = {
    "where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None,
}  # fmt: skip


def makedirs(d: str | os.PathLike[str]) -> None:
    """Creates a folder and those above it; one that exists already is left alone."""
    Path(d).expanduser().mkdir(parents=True, exist_ok=True)


def get_gpu_count() -> int:
    """Returns the number of GPUs that this process sees."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Returns the free and total bytes of a GPU; see :func:`executorkit.gpu_memory_info`."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int | None:
    """Returns the compute capability of a GPU as one number, 80 for 8.0; None if it is unknown.
    Raises ValueError (ArgumentValueError) unless ``ctx`` is a GPU."""
    if ctx.device_type != "gpu":
        problem = f"{ctx} is not a GPU"
        raise ArgumentValueError("get_cuda_compute_capability", problem, hint="mx.gpu(0)")
    capability = getattr(ctx.device, "compute_capability", None)
    return None if capability is None else int(str(capability).replace(".", ""))


def getenv(name: str) -> str | None:
    """Returns the value of an environment variable, or None."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


# The meaning of shapes


def is_np_shape() -> bool:
    """Returns True while shapes have NumPy's meaning: () is a scalar, 0 an empty axis."""
    return numpy_shapes()


def set_np_shape(active: bool) -> bool:
    """Turns NumPy's meaning of shapes on or off for this thread; returns the previous choice. On,
    -1 is an unknown length, ``None`` an unknown rank, ``()`` a scalar and 0 the length of an empty
    axis. Off (the default), 0 is an unknown length and ``()`` an unknown rank."""
    return set_numpy_shapes(operator.index(active) != 0)


class _SwitchScope:
    def __init__(self, switch: Callable[[bool], bool], active: bool) -> None:
        self._switch = switch
        self._active = active
        self._previous: bool = False

    def __enter__(self) -> None:
        self._previous = self._switch(self._active)

    def __exit__(self, *exc: object) -> None:
        self._switch(self._previous)


def np_shape(active: bool = True) -> _SwitchScope:
    """Enters a block in which shapes have NumPy's meaning, or MXNet's if ``active`` is False.

    >>> with np_shape():
    ...     is_np_shape()
    True
    """
    return _SwitchScope(set_np_shape, active)


def use_np_shape(func: T) -> T:
    """Wraps a function, or all methods of a class, to run with NumPy's meaning of shapes. Raises
    TypeError (InputTypeError) for anything else."""
    return _wrapped("use_np_shape", np_shape, func)


def _wrapped(name: str, scope: Callable[[], _SwitchScope], func: T) -> T:
    if isinstance(func, type):
        for key in dir(func):  # inherited ones, too: their calls run in the class's semantics
            if key not in vars(func) and key.startswith("_") and not key.startswith("__"):
                continue
            member = inspect.getattr_static(func, key)
            wrapped = _wrapped_member(scope, member)
            if wrapped is not member:
                setattr(func, key, wrapped)
        return func
    if not callable(func):
        raise InputTypeError(name, f"{func!r} is neither a class nor a function")
    return _within(scope, func)  # type: ignore[return-value]


def _within(scope: Callable[[], _SwitchScope], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Any:
        with scope():
            return function(*args, **kwargs)

    return call


def _wrapped_member(scope: Callable[[], _SwitchScope], member: object) -> Any:
    if isinstance(member, staticmethod | classmethod):
        return type(member)(_within(scope, member.__func__))
    if isinstance(member, property):
        functions = (member.fget, member.fset, member.fdel)
        fget, fset, fdel = (f and _within(scope, f) for f in functions)
        return property(fget, fset, fdel, member.__doc__)
    return _within(scope, member) if inspect.isfunction(member) else member


# The class of arrays


def is_np_array() -> bool:
    """Returns True while parameters and batches are arrays of ``mx.np``."""
    return numpy_arrays()


def np_array(active: bool = True) -> _SwitchScope:
    """Enters a block in which new arrays are ``mx.np``'s, or NDArrays if ``active`` is False."""
    return _SwitchScope(set_numpy_arrays, active)


def use_np_array(func: T) -> T:
    """Wraps a function, or all methods of a class, to run with the arrays of ``mx.np``. Raises
    TypeError (InputTypeError) for anything else."""
    return _wrapped("use_np_array", np_array, func)


def use_np(func: T) -> T:
    """Wraps a function, or all methods of a class, to run with NumPy's meaning of shapes and the
    arrays of ``mx.np``. Raises TypeError (InputTypeError) for anything else."""
    return use_np_shape(use_np_array(func))


def set_np(shape: bool = True, array: bool = True) -> None:
    """Chooses the meaning of shapes and the class of arrays in this thread. Raises ValueError
    (ArgumentValueError) if arrays are asked for without shapes."""
    if array and not shape:
        problem = "array=True needs shape=True"
        raise ArgumentValueError("set_np", problem, hint="set_np(True, False)")
    set_np_shape(shape)
    set_numpy_arrays(bool(array))


def reset_np() -> None:
    """Restores MXNet's meaning of shapes, and NDArrays."""
    set_np(shape=False, array=False)


# Decorators of MXNet's own functions


def set_module(module: str | None) -> Callable[[T], T]:
    """Returns a decorator that sets ``__module__``; None leaves it."""

    def apply(func: T) -> T:
        if module is not None:
            func.__module__ = module  # type: ignore[attr-defined]
        return func

    return apply


def np_ufunc_legal_option(key: str, value: object) -> bool:
    """Returns True if an option of NumPy's universal functions has a value that MXNet accepts."""
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    return True if key == "dtype" else key in ("where", "subok") and isinstance(value, bool)


def _check_ufunc_options(function: Callable[..., Any], options: dict[str, Any]) -> None:
    name = function.__name__
    for key, value in options.items():
        if key not in _UFUNC_OPTIONS:
            raise InputTypeError(name, f"{key!r} is not one of its options")
        accepted = _UFUNC_OPTIONS[key]
        if value != accepted:
            problem = f"{key}={value!r} is not supported"
            raise NotSupportedError(name, problem, hint=f"{key}={accepted!r}")


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``func(x, out)`` with NumPy's other options at their defaults only."""

    @functools.wraps(func)
    def call(x: object, out: object = None, **kwargs: object) -> Any:
        _check_ufunc_options(func, kwargs)
        return func(x, out=out)

    return call


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``func(x1, x2, out)`` with NumPy's other options at their defaults only."""

    @functools.wraps(func)
    def call(x1: object, x2: object, out: object = None, **kwargs: object) -> Any:
        _check_ufunc_options(func, kwargs)
        return func(x1, x2, out=out)

    return call
