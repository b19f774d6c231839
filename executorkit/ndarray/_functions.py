"""``mx.nd.add``, ``maximum``, ``greater``, ...: functions of arrays and numbers in any mixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arithmetic import binary


def _function(name: str, words: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        return binary(name, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{words}, element by element.\n\n"
        "lhs and rhs are NDArrays of one dtype that broadcast to one shape, or numbers, which are\n"
        "converted to the array's dtype first; two numbers give a number."
    )
    return function


add = _function("add", "lhs + rhs")
subtract = _function("subtract", "lhs - rhs")
multiply = _function("multiply", "lhs * rhs")
divide = _function("divide", "lhs / rhs; integers are divided towards zero")
modulo = _function("modulo", "lhs mod rhs, with the sign of rhs, 0 where rhs is 0")
power = _function("power", "lhs to the power of rhs")
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
