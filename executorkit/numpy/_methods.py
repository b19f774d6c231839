"""Methods and Python's operators of the arrays of ``mx.np`` and of their symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self

from . import _composed_functions as functions
from ._table import FUNCTIONS
from ._ufuncs import BINARY, UFUNCS
from .utils import check_order, is_number


def _operator(name: str) -> Callable[[Any, Any], Any]:
    binary = BINARY[name]
    return lambda self, other: binary(self, other)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    binary = BINARY[name]
    return lambda self, other: binary(other, self)


class NumpyMethods:
    """Methods that call the function of ``mx.np`` of the same name."""

    __slots__ = ()

    @property
    def T(self) -> Self:  # noqa: N802
        """The array with its axes in reverse order: a copy."""
        return FUNCTIONS["transpose"](self)

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """Returns the elements in another shape, of which one length may be -1: a copy."""
        check_order("reshape", kwargs.pop("order", "C"))
        if kwargs:
            raise TypeError(f"reshape() got unexpected keywords: {', '.join(kwargs)}")
        if len(args) == 1 and isinstance(args[0], tuple | list):
            args = tuple(args[0])
        return FUNCTIONS["reshape"](self, tuple(map(operator.index, args)))

    def flatten(self, order: str = "C") -> Self:  # type: ignore[override]
        """Returns all elements in order, as a vector."""
        return functions.ravel(self, order)

    def squeeze(self, axis: Any = None) -> Self:  # type: ignore[override]
        """Returns the array without axes of length 1."""
        return FUNCTIONS["squeeze"](self, axis)

    def transpose(self, *axes: Any) -> Self:
        """Returns the array with its axes in the order ``axes``, or reversed."""
        order = axes[0] if len(axes) == 1 and not is_number(axes[0]) else axes
        return FUNCTIONS["transpose"](self, order or None)

    def broadcast_to(self, shape: Any) -> Self:
        """Returns the array repeated along axes of length 1, and new leading ones, to ``shape``."""
        return FUNCTIONS["broadcast_to"](self, tuple(shape))

    def repeat(self, repeats: Any, axis: int | None = None) -> Self:
        """Returns each element ``repeats`` times, along ``axis`` or of all in order."""
        return FUNCTIONS["repeat"](self, repeats, axis)

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Self:
        """Returns the parts with these indices along ``axis``, or of all elements."""
        return functions.take(self, indices, axis, mode)

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Returns the sum over ``axis``, or of all elements."""
        return FUNCTIONS["sum"](self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Self:
        """Returns elements limited to the numbers ``min`` and ``max``."""
        return functions.clip(self, min, max, out)

    def round(self, decimals: int = 0, out: Any = None) -> Self:
        """Returns elements rounded to ``decimals`` digits."""
        return FUNCTIONS["around"](self, decimals, out)

    __add__ = __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__ = __rmul__ = _operator("multiply")
    __div__ = __truediv__ = _operator("true_divide")
    __rdiv__ = __rtruediv__ = _reflected("true_divide")
    __mod__, __rmod__ = _operator("mod"), _reflected("mod")
    __pow__, __rpow__ = _operator("power"), _reflected("power")
    __and__ = __rand__ = _operator("bitwise_and")
    __or__ = __ror__ = _operator("bitwise_or")
    __xor__ = __rxor__ = _operator("bitwise_xor")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __hash__ = object.__hash__
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")

    def __abs__(self) -> Self:
        return UFUNCS["abs"](self)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"NumpyMethods.{name}"
    method.__doc__ = f"``np.{name}`` of this array."
    return method


_METHODS = {
    **{name: FUNCTIONS[name] for name in (
        "all", "any", "argmax", "argmin", "cumsum", "diag", "dot", "max", "mean", "min", "prod",
        "std", "swapaxes", "var",
    )},
    "argsort": functions.argsort, "nonzero": functions.nonzero,
}  # fmt: skip
for _name, _function in _METHODS.items():
    setattr(NumpyMethods, _name, _method(_name, _function))
