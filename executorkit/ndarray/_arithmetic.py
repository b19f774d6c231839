"""Arithmetic and comparison of arrays and numbers, broadcasting: ``mx.nd.add``, ``maximum``, ...

As in MXNet: a number is converted to the array's dtype first (bool and a number to int64), two
arrays need one dtype, integer division truncates, comparisons give 0 and 1 in the arrays' dtype.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays.handle import Handle
from ..calls.resolved_calls import ResolvedCall, is_floating
from ..calls.ways import invoke, run
from ..errors import InputTypeError
from ..ops import lookup
from ..ops.schema.call_rules import CAST_TYPES, call_rules
from ._cast_calls import cast_arrays


class ArrayBinary(NamedTuple):
    """Operators of two arrays, array and number, number and array; a function of numbers."""

    arrays: str
    scalar: str
    reverse: str
    numbers: Callable[[Any, Any], Any]


def _logical(fn: Callable[[bool, bool], bool]) -> Callable[[Any, Any], int]:
    return lambda x, y: int(fn(bool(x), bool(y)))


def _compared(fn: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    return lambda x, y: int(fn(x, y))


def _row(name: str, scalar: str, reverse: str, numbers: Callable[[Any, Any], Any]) -> ArrayBinary:
    return ArrayBinary(f"broadcast_{name}", f"_{scalar}_scalar", f"_{reverse}_scalar", numbers)


BINARY: dict[str, ArrayBinary] = {
    "add": _row("add", "plus", "plus", operator.add),
    "subtract": _row("sub", "minus", "rminus", operator.sub),
    "multiply": _row("mul", "mul", "mul", operator.mul),
    "divide": _row("div", "div", "rdiv", operator.truediv),
    "modulo": _row("mod", "mod", "rmod", operator.mod),
    "power": _row("power", "power", "rpower", operator.pow),
    "maximum": _row("maximum", "maximum", "maximum", max),
    "minimum": _row("minimum", "minimum", "minimum", min),
    "equal": _row("equal", "equal", "equal", _compared(operator.eq)),
    "not_equal": _row("not_equal", "not_equal", "not_equal", _compared(operator.ne)),
    "greater": _row("greater", "greater", "lesser", _compared(operator.gt)),
    "greater_equal": _row("greater_equal", "greater_equal", "lesser_equal", _compared(operator.ge)),
    "lesser": _row("lesser", "lesser", "greater", _compared(operator.lt)),
    "lesser_equal": _row("lesser_equal", "lesser_equal", "greater_equal", _compared(operator.le)),
    "logical_and": _row("logical_and", "logical_and", "logical_and", _logical(operator.and_)),
    "logical_or": _row("logical_or", "logical_or", "logical_or", _logical(operator.or_)),
    "logical_xor": _row("logical_xor", "logical_xor", "logical_xor", _logical(operator.xor)),
}


def binary(name: str, lhs: Any, rhs: Any, out: Handle | None = None) -> Any:
    """Returns the function called ``name`` of NDArrays and numbers; of two numbers a number.
    TypeError for others, NumPy arrays included."""
    row = BINARY[name]
    left, right = isinstance(lhs, Handle), isinstance(rhs, Handle)
    if call_rules.rule is not None:
        lhs, rhs = _cast(row, lhs, rhs, out)
    if left and right:
        if out is None:
            return run(_of_arrays(row.arrays), type(lhs), (lhs, rhs))
        return _run(row.arrays, out, lhs, rhs)
    if not left and not right:
        return row.numbers(_number(name, lhs), _number(name, rhs))
    array, number, scalar = (lhs, rhs, row.scalar) if left else (rhs, lhs, row.reverse)
    if number.__class__ is not int and number.__class__ is not float:
        number = _number(name, number)
    if is_floating(array.storage.dtype):
        return run(_of_scalar(scalar), type(array), (array,), (float(number),), out)
    return _run(scalar, out, array, scalar=+number)


def _cast(row: ArrayBinary, lhs: Any, rhs: Any, out: Handle | None) -> list[Any]:
    left, right = isinstance(lhs, Handle), isinstance(rhs, Handle)
    op = lookup(row.arrays if left and right else row.scalar if left else row.reverse)
    rule = call_rules.rule
    if not (left or right) or op is None or rule is None:
        return [lhs, rhs]
    dtype = rule.input_type(op, {})
    if dtype is None:
        return [lhs, rhs]
    if out is not None and out.dtype_name in CAST_TYPES:
        dtype = out.dtype_name
    return cast_arrays(dtype, [lhs, rhs])


@cache
def _of_arrays(name: str) -> ResolvedCall:
    op = lookup(name)
    assert op is not None, name
    return ResolvedCall(op, (), ())


@cache
def _of_scalar(name: str) -> ResolvedCall:
    op = lookup(name)
    assert op is not None, name
    return ResolvedCall(op, (("scalar", "1"),), ("scalar",))


def _run(name: str, out: Handle | None, *arrays: Handle, **attrs: Any) -> Any:
    op = lookup(name)
    assert op is not None, name
    return invoke(op, type(arrays[0]), arrays, attrs, out)


def _number(name: str, x: Any) -> float | int:
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float | int):
        return x
    problem = f"{type(x).__name__} is not supported, expected an NDArray or a number"
    raise InputTypeError(f"nd.{name}", problem, hint="mx.nd.array(x) makes an NDArray")


def _function(name: str, summary: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        return binary(name, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary}, element by element.\n\n"
        "lhs and rhs are NDArrays of one dtype that broadcast to one shape, or numbers, which are\n"
        "converted to the array's dtype first; two numbers give a number."
    )
    return function


add = _function("add", "lhs + rhs")
subtract = _function("subtract", "lhs - rhs")
multiply = _function("multiply", "lhs * rhs")
divide = _function("divide", "lhs / rhs; integers are divided towards zero")
modulo = _function("modulo", "lhs mod rhs, with the sign of rhs, 0 where rhs is 0")


def power(base: Any, exp: Any) -> Any:
    """Returns ``base`` to the power of ``exp``, element by element.

    Both are NDArrays of one dtype that broadcast to one shape, or numbers, which are converted to
    the array's dtype first; two numbers give a number.
    """
    return binary("power", base, exp)


maximum = _function("maximum", "the larger of lhs and rhs")
minimum = _function("minimum", "the smaller of lhs and rhs")
equal = _function("equal", "1 where lhs == rhs, else 0")
not_equal = _function("not_equal", "1 where lhs != rhs, else 0")
greater = _function("greater", "1 where lhs > rhs, else 0")
greater_equal = _function("greater_equal", "1 where lhs >= rhs, else 0")
lesser = _function("lesser", "1 where lhs < rhs, else 0")
lesser_equal = _function("lesser_equal", "1 where lhs <= rhs, else 0")
logical_and = _function("logical_and", "1 where lhs and rhs are both not 0, else 0")
logical_or = _function("logical_or", "1 where lhs or rhs is not 0, else 0")
logical_xor = _function("logical_xor", "1 where exactly one of lhs and rhs is not 0, else 0")
true_divide = divide
