"""Python's operators on symbols, and the functions that follow the same rule (``maximum``).

Operators as methods of a symbol.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..errors import MXNetError, NotImplementedForSymbol, explain
from ..ops import lookup
from ..ops.schema.calls import call_doc, call_signature

if TYPE_CHECKING:
    from ._symbol import Symbol
    from .node import Entry


@dataclass(frozen=True, slots=True)
class SymbolBinary:
    """The operators behind one binary operation, and the hints that name their nodes: of two
    symbols, of a symbol and a number, and of a number and a symbol."""

    both: tuple[str, str]
    scalar: tuple[str, str]
    reflected: tuple[str, str]


def _binary(
    name: str, scalar: str, reflected: str | None = None, op: str | None = None
) -> SymbolBinary:
    def pair(operator: str) -> tuple[str, str]:
        return operator, operator.replace("_scalar", "scalar")

    return SymbolBinary((op or name, name), pair(scalar), pair(reflected or scalar))


def _comparison(name: str) -> SymbolBinary:
    scalar = (f"{name}_scalar", f"{name}_scalar")
    return SymbolBinary((name, name), scalar, scalar)


BINARY = {
    "+": _binary("_plus", "_plus_scalar", op="elemwise_add"),
    "-": _binary("_minus", "_minus_scalar", "_rminus_scalar", op="elemwise_sub"),
    "*": _binary("_mul", "_mul_scalar", op="elemwise_mul"),
    "/": _binary("_div", "_div_scalar", "_rdiv_scalar", op="elemwise_div"),
    "%": _binary("_mod", "_mod_scalar", "_rmod_scalar"),
    "**": SymbolBinary(
        ("_power", "_power"),
        ("_power_scalar", "_powerscalar"),
        ("_rpower_scalar", "_rpower_scalar"),
    ),
    "==": _comparison("_equal"),
    "!=": _comparison("_not_equal"),
    ">": _comparison("_greater"),
    ">=": _comparison("_greater_equal"),
    "<": _comparison("_lesser"),
    "<=": _comparison("_lesser_equal"),
    "pow": _binary("_power", "_power_scalar", "_rpower_scalar"),
    "maximum": _binary("_maximum", "_maximum_scalar"),
    "minimum": _binary("_minimum", "_minimum_scalar"),
    "hypot": _binary("_hypot", "_hypot_scalar"),
}


class PythonOperators:
    """Arithmetic and comparison: element-wise, with symbols of the same shape or numbers.

    Comparisons give 0 and 1 in the type of the inputs, so a symbol has no truth value and no hash.
    """

    __slots__ = ()
    # NumPy's scalars leave ``np.float32(2) * symbol`` to the symbol.
    __array_priority__ = 1000.0

    if TYPE_CHECKING:
        heads: tuple[Entry, ...]

    _call: Callable[..., Symbol]

    def _operate(self, other: Any, key: str, *, reflected: bool = False) -> Symbol:
        kind = BINARY[key]
        if isinstance(other, PythonOperators):
            pair = (other, self) if reflected else (self, other)
            return self._call(*kind.both, pair, {})
        if isinstance(other, Number):
            return self._call(
                *(kind.reflected if reflected else kind.scalar), (self,), {"scalar": other}
            )
        raise TypeError(f"symbol {key} {type(other).__name__}: expected a Symbol or a number")

    def __add__(self, other: Any) -> Symbol:
        return self._operate(other, "+")

    def __radd__(self, other: Any) -> Symbol:
        return self._operate(other, "+")

    def __sub__(self, other: Any) -> Symbol:
        return self._operate(other, "-")

    def __rsub__(self, other: Any) -> Symbol:
        return self._operate(other, "-", reflected=True)

    def __mul__(self, other: Any) -> Symbol:
        return self._operate(other, "*")

    def __rmul__(self, other: Any) -> Symbol:
        return self._operate(other, "*")

    def __truediv__(self, other: Any) -> Symbol:
        return self._operate(other, "/")

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._operate(other, "/", reflected=True)

    def __mod__(self, other: Any) -> Symbol:
        return self._operate(other, "%")

    def __rmod__(self, other: Any) -> Symbol:
        return self._operate(other, "%", reflected=True)

    def __pow__(self, other: Any) -> Symbol:
        return self._operate(other, "**")

    def __rpow__(self, other: Any) -> Symbol:
        return self._operate(other, "**", reflected=True)

    def __neg__(self) -> Symbol:
        return self._operate(-1.0, "*")

    def __abs__(self) -> Symbol:
        return self._call("abs", "abs", (self,), {})

    def __eq__(self, other: Any) -> Symbol:  # type: ignore[override]
        return self._operate(other, "==")

    def __ne__(self, other: Any) -> Symbol:  # type: ignore[override]
        return self._operate(other, "!=")

    def __gt__(self, other: Any) -> Symbol:
        return self._operate(other, ">")

    def __ge__(self, other: Any) -> Symbol:
        return self._operate(other, ">=")

    def __lt__(self, other: Any) -> Symbol:
        return self._operate(other, "<")

    def __le__(self, other: Any) -> Symbol:
        return self._operate(other, "<=")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("bool")

    def __iadd__(self, other: Any) -> NoReturn:
        raise NotImplementedForSymbol("+=", "a = a + b")

    def __isub__(self, other: Any) -> NoReturn:
        raise NotImplementedForSymbol("-=", "a = a - b")

    def __imul__(self, other: Any) -> NoReturn:
        raise NotImplementedForSymbol("*=", "a = a * b")

    def __itruediv__(self, other: Any) -> NoReturn:
        raise NotImplementedForSymbol("/=", "a = a / b")


#: Operators that are methods under their own name, called with the symbol as first input.
OPERATOR_METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "broadcast_to",
    "cbrt", "ceil", "clip", "cos", "cosh", "degrees", "depth_to_space", "exp", "expm1", "fix",
    "flip", "floor", "log", "log10", "log1p", "log2", "log_softmax", "max", "mean", "min",
    "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape", "reshape_like", "rint", "round", "rsqrt",
    "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis",
    "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "sum",
    "swapaxes", "take", "tan", "tanh", "tile", "topk", "transpose", "trunc", "zeros_like",
)  # fmt: skip
#: Methods of NDArray that have no meaning for a symbol.
_ARRAY_METHODS = (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read",
)  # fmt: skip


class OperatorMethods:
    """Operators called on their first input: ``data.reshape(shape=(0, -1))``."""

    __slots__ = ()

    _call: Callable[..., Symbol]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Symbol]: ...

    def astype(self, *args: Any, **kwargs: Any) -> Symbol:
        """``mx.sym.cast`` of this symbol: ``astype("float16")``."""
        return self._call("cast", "cast", (self, *args), kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Symbol:
        """``mx.sym.diag`` of this symbol."""
        return self._call("diag", "diag", (self, k), kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.expand_dims`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("expand_dims", "expand_dims", (self, axis), kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.flatten`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("flatten", "flatten", (self,), kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Symbol:
        """``mx.sym.squeeze`` of this symbol; ``inplace`` means nothing for a symbol."""
        return self._call("squeeze", "squeeze", (self, axis), kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Symbol:
        """``mx.sym.split_v2`` of this symbol."""
        from ._symbol_creation import split_v2

        return split_v2(cast("Symbol", self), *args, **kwargs)

    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself: there is only one kind."""
        return cast("Symbol", self)


def _operator_method(name: str) -> Callable[..., Symbol]:
    def method(self: OperatorMethods, *args: Any, **kwargs: Any) -> Symbol:
        return self._call(name, name, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    op = lookup(name)
    if op is None:
        raise MXNetError(explain(f"method {name}", "there is no such operator"))
    signature = call_signature(op, "symbol")
    _, *rest = signature.parameters.values()
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    method.__doc__ = f"``mx.sym.{name}`` of this symbol.\n\n{call_doc(op, 'symbol')}"
    return method


def _array_method(name: str) -> Callable[..., NoReturn]:
    def method(self: OperatorMethods) -> NoReturn:
        raise NotImplementedForSymbol(name)

    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = "Only arrays have this; raises NotImplementedForSymbol."
    return method


for _name in OPERATOR_METHODS:
    setattr(OperatorMethods, _name, _operator_method(_name))
for _name in _ARRAY_METHODS:
    setattr(OperatorMethods, _name, _array_method(_name))
