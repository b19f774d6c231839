"""``mx.nd.add``, ``maximum``, ``greater``, ...: functions of arrays and numbers in any mixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arithmetic import BINARY, binary

_WORDS = {
    "add": "lhs + rhs",
    "subtract": "lhs - rhs",
    "multiply": "lhs * rhs",
    "divide": "lhs / rhs; integers are divided towards zero",
    "modulo": "lhs mod rhs, with the sign of rhs, 0 where rhs is 0",
    "power": "lhs to the power of rhs",
    "maximum": "the larger of lhs and rhs",
    "minimum": "the smaller of lhs and rhs",
    "equal": "1 where lhs == rhs, else 0",
    "not_equal": "1 where lhs != rhs, else 0",
    "greater": "1 where lhs > rhs, else 0",
    "greater_equal": "1 where lhs >= rhs, else 0",
    "lesser": "1 where lhs < rhs, else 0",
    "lesser_equal": "1 where lhs <= rhs, else 0",
    "logical_and": "1 where lhs and rhs are both not 0, else 0",
    "logical_or": "1 where lhs or rhs is not 0, else 0",
    "logical_xor": "1 where exactly one of lhs and rhs is not 0, else 0",
}


def _function(name: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        return binary(name, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{_WORDS[name]}, element by element.\n\n"
        "lhs and rhs are NDArrays of one dtype that broadcast to one shape, or numbers, which are\n"
        "converted to the array's dtype first; two numbers give a number."
    )
    return function


FUNCTIONS = {name: _function(name) for name in BINARY}
FUNCTIONS["true_divide"] = FUNCTIONS["divide"]
