"""Calls of operators on arrays of ``mx.np``, or on symbols of ``mx.sym.np``.

Both classes have ``numpy_call(op, func_name, arrays, attrs)``: the first array's class runs the
call.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..calls.resolved_calls import ResolvedCall, is_floating
from ..calls.ways import invoke, run
from ..errors import InputTypeError, NotSupportedError, shorten
from ..ndarray import NDArray
from ..ndarray.array_classes import element_type
from ..ops import OpDef, lookup
from ..ops.schema.operator_registry import named

#: Options of NumPy's universal functions, with the values that are accepted.
_UFUNC_OPTIONS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


@lru_cache(maxsize=1024)
def operator(name: str) -> OpDef:
    """Returns the operator that is called ``name``, which there is."""
    op = lookup(name)
    assert op is not None, name
    return op


def is_numpy(x: object) -> bool:
    """Returns True for an array of ``mx.np``, and for its symbol."""
    return hasattr(x, "numpy_call")


def check_array(func_name: str, x: Any, name: str = "an argument") -> None:
    """Raises TypeError and AssertionError (InputTypeError) unless ``x`` is an array of ``mx.np``,
    or its symbol."""
    if is_numpy(x):
        return
    problem = f"{name} is {shorten(repr(x))} ({type(x).__name__}), expected an array of mx.np"
    hint = "x.as_np_ndarray()" if isinstance(x, NDArray) else "np.array(x)"
    raise InputTypeError(f"np.{func_name}", problem, hint=hint)


def call(op_name: str, func_name: str, arrays: Sequence[Any], out: Any = None, **attrs: Any) -> Any:
    """Calls an operator; attributes that are None are left out."""
    for x in arrays:
        check_array(func_name, x)
    arguments = {k: plain(k, v) for k, v in attrs.items() if v is not None}
    if out is not None:
        arguments["out"] = out
    return arrays[0].numpy_call(operator(op_name), func_name, tuple(arrays), arguments)


def plain(name: str, value: Any) -> Any:
    """Returns an attribute's value in a form that can be a part of a key."""
    if name == "dtype":
        return value if value.__class__ is str else element_type(value).name
    if value.__class__ is np.ndarray:
        value = value.tolist()
    return tuple(value) if value.__class__ is list else value


def check_order(func_name: str, order: str) -> None:
    """Raises NotSupportedError for an order of elements that is not C's."""
    if order != "C":
        raise NotSupportedError(func_name, f"order={order!r} is not supported", hint="'C'")


def check_options(func_name: str, options: dict[str, Any]) -> None:
    """Raises an error for options of NumPy's functions without their defaults."""
    for key, value in options.items():
        if key not in _UFUNC_OPTIONS:
            raise InputTypeError(f"np.{func_name}", f"unknown argument {key!r}")
        if value != _UFUNC_OPTIONS[key]:
            problem = f"{key}={value!r} is not supported"
            raise NotSupportedError(f"np.{func_name}", problem, hint=f"leave {key} out")


def not_an_operand(func_name: str, *operands: Any) -> InputTypeError:
    """Returns the error about the first operand that is neither an array nor a number."""
    wrong = next(x for x in operands if not (is_numpy(x) or is_number(x)))
    problem = f"{type(wrong).__name__} is not supported, expected an array of mx.np or a number"
    hint = "x.as_np_ndarray()" if isinstance(wrong, NDArray) else "np.array(x)"
    return InputTypeError(f"np.{func_name}", problem, hint=hint)


def is_number(x: object) -> bool:
    """Returns True for a number of Python or NumPy."""
    return isinstance(x, bool | int | float | np.number | np.bool_)


def unary(name: str, op_name: str, host: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function ``name`` of one array or number."""
    resolved: list[ResolvedCall] = []

    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            check_options(name, kwargs)
        if isinstance(x, NDArray) and is_numpy(x):
            if not resolved:
                resolved.append(ResolvedCall(operator(op_name), (), ()))
            return run(resolved[0], type(x), (x,), (), out)
        if is_numpy(x):
            return call(op_name, name, (x,))
        if is_number(x):
            return host(x)
        raise not_an_operand(name, x)

    return named(function, name, f"Computes ``numpy.{name}`` of an array, or of a number.")


#: The name of an operator, and its resolved call once there was one.
_Kind = tuple[str, list[ResolvedCall]]


class Binary:
    """A function of two arrays, an array and a number, or two numbers."""

    __slots__ = ("_arrays", "_reverse", "_scalar", "host", "name")

    def __init__(
        self, name: str, arrays: str, scalar: str, reverse: str, host: Callable[..., Any]
    ) -> None:
        self.name = name
        self.host = host
        self._arrays: _Kind = (arrays, [])
        self._scalar: _Kind = (scalar, [])
        self._reverse: _Kind = (reverse, [])

    def __call__(self, x1: Any, x2: Any, out: Any = None) -> Any:
        first, second = is_numpy(x1), is_numpy(x2)
        if first and second:
            return self._of_arrays(x1, x2, out)
        if first and is_number(x2):
            return self._of_number(self._scalar, x1, x2, out, reflected=False)
        if second and is_number(x1):
            return self._of_number(self._reverse, x2, x1, out, reflected=True)
        if first or second or not (is_number(x1) and is_number(x2)):
            raise not_an_operand(self.name, x1, x2)
        return self.host(x1, x2)

    def _of_arrays(self, x1: Any, x2: Any, out: Any) -> Any:
        op_name, resolved = self._arrays
        if not isinstance(x1, NDArray):
            return call(op_name, self.name, (x1, x2))
        if not resolved:
            resolved.append(ResolvedCall(operator(op_name), (), ()))
        return run(resolved[0], type(x1), (x1, x2), (), out)

    def _of_number(self, kind: Any, x: Any, number: Any, out: Any, reflected: bool) -> Any:
        op_name, resolved = kind
        if not isinstance(x, NDArray):
            name = f"{'r' if kind is not self._scalar else ''}{self.name}_scalar"
            is_int = isinstance(number, int | np.integer) and not reflected
            return call(op_name, name, (x,), scalar=float(number), is_int=is_int)
        if isinstance(number, np.generic):
            number = number.item()
        if x.storage.dtype == bool and self.name in ("maximum", "minimum", "hypot"):
            x = x.astype("int64")
        if not is_floating(x.storage.dtype):
            return invoke(operator(op_name), type(x), (x,), {"scalar": +number}, out)
        if not resolved:
            resolved.append(ResolvedCall(operator(op_name), (("scalar", "1"),), ("scalar",)))
        return run(resolved[0], type(x), (x,), (float(number),), out)


def extension_function(name: str) -> Callable[..., Any]:
    """Returns ``npx.<name>``: a call of the operator ``_npx_<name>`` on arrays or symbols."""

    def function(*args: Any, **kwargs: Any) -> Any:
        op = operator(f"_npx_{name}")
        if kwargs.get("dtype", op) is None:
            del kwargs["dtype"]
        operands = (*args, *(x for key, x in kwargs.items() if key != "out"))
        arrays = [x for x in operands if is_numpy(x) or isinstance(x, NDArray)]
        for x in arrays or args[:1]:
            check_array(name, x)
        if not arrays:
            raise InputTypeError(f"npx.{name}", "no arrays are given")
        return arrays[0].numpy_call(op, name, args, kwargs)

    doc = f"Calls the operator ``_npx_{name}`` on arrays, or on symbols; see its docstring."
    return named(function, name, doc)
