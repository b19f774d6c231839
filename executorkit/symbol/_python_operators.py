"""Python's operators on symbols, and MXNet's operators as methods of a symbol."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from .._support.annotations import Function
from ..errors import NotImplementedForSymbol
from .node import Entry


@dataclass(frozen=True, slots=True)
class SymbolBinary:
    """The operators of a binary operation (two symbols, symbol and number, number and symbol), and
    the hints that name their nodes."""

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


_Operators = TypeVar("_Operators", bound="PythonOperators")


def _operator(key: str, *, reflected: bool = False) -> Callable[[_Operators, Any], _Operators]:
    return lambda self, other: self._operate(other, key, reflected=reflected)


def _refused(key: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, other: Any) -> NoReturn:
        raise NotImplementedForSymbol(f"{key}=", f"a = a {key} b")

    return refuse


class PythonOperators:
    """Arithmetic and comparison: element-wise, with symbols of the same shape or numbers.

    Comparisons give 0 and 1 in the type of the inputs, so a symbol has no truth value and no hash.
    """

    __slots__ = ()
    # NumPy's scalars leave ``np.float32(2) * symbol`` to the symbol.
    __array_priority__ = 1000.0

    if TYPE_CHECKING:
        heads: tuple[Entry, ...]
        _call: Function

        def __getattr__(self, name: str) -> Callable[..., Self]: ...

    def _operate(self, other: Any, key: str, *, reflected: bool = False) -> Self:
        kind = BINARY[key]
        if isinstance(other, PythonOperators):
            return self._call(*kind.both, (other, self) if reflected else (self, other), {})
        if isinstance(other, Number):
            names = kind.reflected if reflected else kind.scalar
            return self._call(*names, (self,), {"scalar": other})
        raise TypeError(f"symbol {key} {type(other).__name__}: expected a Symbol or a number")

    __add__ = __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-"), _operator("-", reflected=True)
    __mul__ = __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", reflected=True)
    __mod__, __rmod__ = _operator("%"), _operator("%", reflected=True)
    __pow__, __rpow__ = _operator("**"), _operator("**", reflected=True)
    __gt__, __ge__ = _operator(">"), _operator(">=")
    __lt__, __le__ = _operator("<"), _operator("<=")
    __iadd__, __isub__ = _refused("+"), _refused("-")
    __imul__, __itruediv__ = _refused("*"), _refused("/")

    def __neg__(self) -> Self:
        return self._operate(-1.0, "*")

    def __abs__(self) -> Self:
        return self._call("abs", "abs", (self,), {})

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._operate(other, "==")

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._operate(other, "!=")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("bool")

    # Operators with a signature of their own as methods

    def astype(self, *args: Any, **kwargs: Any) -> Self:
        """Returns ``mx.sym.cast`` of this symbol: ``astype("float16")``."""
        return self._call("cast", "cast", (self, *args), kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Self:
        """Returns ``mx.sym.diag`` of this symbol."""
        return self._call("diag", "diag", (self, k), kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns ``mx.sym.expand_dims`` of this symbol; ``inplace`` has no effect."""
        return self._call("expand_dims", "expand_dims", (self, axis), kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns ``mx.sym.flatten`` of this symbol; ``inplace`` has no effect."""
        return self._call("flatten", "flatten", (self,), kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns ``mx.sym.squeeze`` of this symbol; ``inplace`` has no effect."""
        return self._call("squeeze", "squeeze", (self, axis), kwargs)

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> Self:
        """Returns ``mx.sym.split_v2`` of this symbol."""
        attrs = split_attrs(indices_or_sections, axis, squeeze_axis)
        return self._call("_split_v2", "_split_v2", (self,), attrs)

    def as_nd_ndarray(self) -> Self:
        """Returns the symbol itself."""
        return self


def split_attrs(
    indices_or_sections: int | Sequence[int], axis: int, squeeze_axis: bool
) -> dict[str, Any]:
    """Returns attributes of ``_split_v2``: a number of equal parts, or indices to cut before."""
    if isinstance(indices_or_sections, int):
        indices, sections = [], indices_or_sections
    elif isinstance(indices_or_sections, tuple | list):
        indices, sections = [0, *indices_or_sections], 0
    else:
        raise ValueError(f"indices_or_sections={indices_or_sections!r}, expected int or sequence")
    return {
        "indices": indices, "axis": axis, "squeeze_axis": squeeze_axis, "sections": sections,
    }  # fmt: skip
