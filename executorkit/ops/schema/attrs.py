"""Attributes of operators: from an annotation to a parser of MXNet's attribute strings.

MXNet keeps every attribute as text: ``"(3, 3)"``, ``"None"``, ``"1e-05"``, ``"8L"``, ``"[1, 2]"``.
A value given from Python is first written as text (:func:`to_text`) and then read by the parser of
its annotation, so that a call and a file agree. No jax in here.
"""

import inspect
import math
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from ...errors import AttributeValueError, DTypeError, shorten

T = TypeVar("T")

#: Marker of an attribute that only steered speed or memory in MXNet; accepted, without effect.
TUNING = "tuning"
Tuning = Annotated[T, TUNING]
#: Marker of an array input that is an auxiliary state: its new value is an extra result.
AUX = "aux"
Aux = Annotated[Any, AUX]
#: Markers of the keyword-only parameters through which an operator gets its PRNG key (a JAX key
#: array) and the train flag (a Python bool).
KEY = "key"
Key = Annotated[Any, KEY]
TRAIN = "train"
Train = Annotated[bool, TRAIN]
#: Name and marker of the keyword-only parameter through which loops and branches get their bodies
#: (``subgraph_bodies.SubgraphBody``), which a graph keeps beside the attributes.
BODIES = "bodies"
Bodies = Annotated[Any, BODIES]

#: A tuple of integers. ``"3"``, ``"(3, 3)"``, ``"[3, 3]"`` and ``"(8L, 3L)"`` are all understood.
Shape = tuple[int, ...]
#: A tuple whose entries may be None, as ``begin`` and ``end`` of ``slice``.
OptShape = tuple[int | None, ...]
#: A tuple of numbers.
Floats = tuple[float, ...]
#: A size, or a number of things: a positive integer.
Count = Annotated[int, "count"]
#: A number from 0 to 1.
UnitInterval = Annotated[float, "unit_interval"]
#: The name of an element type, one of :data:`DTYPES`.
DType = Annotated[str, "dtype"]

#: MXNet's element types, in the order of its type numbers (``-1`` is "not known").
DTYPES = {
    0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64",
    7: "bool", 8: "int16", 9: "uint16", 10: "uint32", 11: "uint64", 12: "bfloat16",
}  # fmt: skip
DTYPE_NUMBERS = {name: number for number, name in DTYPES.items()}

_REQUIRED: Any = object()
_INTEGER = re.compile(r"\s*[+-]?[0-9]+[lL]?\s*")
_INNER_TUPLE = re.compile(r"\([^()]*\)")


def dtype_of(value: Any) -> Any:
    """Returns the dtype of an array, a NumPy scalar, or another object with a ``dtype``; anything
    else unchanged."""
    while not isinstance(value, type | np.dtype | str) and hasattr(value, "dtype"):
        value = value.dtype
    return value


def dtype_name(value: object) -> str:
    """Returns the name of an element type, given a name, dtype, scalar class, type number, or an
    array of the type."""
    name: str
    value = dtype_of(value)
    if isinstance(value, str):
        name = {"float": "float32", "int": "int32", "bool_": "bool"}.get(value, value)
    elif isinstance(value, int) and not isinstance(value, bool):
        name = DTYPES.get(value, "")
    elif value is float:
        name = "float64"
    else:
        try:
            name = np.dtype(cast(Any, value)).name
        except TypeError:
            name = getattr(value, "__name__", "")
    if name not in DTYPE_NUMBERS:
        raise DTypeError(f"unknown dtype {value!r}; expected one of {', '.join(DTYPE_NUMBERS)}")
    return name


def to_text(value: object) -> str:
    """Writes an attribute value as MXNet does into a symbol; NumPy scalars as Python numbers.

    >>> to_text((np.int64(3), 3)), to_text(np.float32(0.3)), to_text(True), to_text(np.float16)
    ('(3, 3)', '0.3', 'True', 'float16')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        value = tuple(value) if value.ndim else value[()]
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, type):
        return dtype_name(value) if value not in (int, float, bool) else value.__name__
    if isinstance(value, tuple | list):
        inner = [to_text(v) for v in value]
        if isinstance(value, list):
            return f"[{', '.join(inner)}]"
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    return str(value)


def _parse_int(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError
    return int(text.rstrip(" lL"))


def _parse_count(text: str) -> int:
    value = _parse_int(text)
    if value < 1:
        raise ValueError
    return value


def _parse_unit_interval(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def _parse_bool(text: str) -> bool:
    values = {"true": True, "false": False, "1": True, "0": False}
    try:
        return values[text.strip().lower()]
    except KeyError:
        raise ValueError from None


def _parse_tuple(text: str, item: Callable[[str], Any]) -> tuple[Any, ...]:
    text = text.strip()
    if text[:1] + text[-1:] in ("()", "[]"):
        text = text[1:-1].strip().removesuffix(",")
        # The commas of inner tuples divide nothing here.
        parts = _INNER_TUPLE.sub(lambda t: t[0].replace(",", "\0"), text).split(",") if text else ()
        return tuple(item(part.replace("\0", ",").strip()) for part in parts)
    return (item(text),) if text else ()


def _parse_dtype(text: str) -> str:
    return dtype_name(int(text) if text.strip().lstrip("-").isdigit() else text.strip())


def _choice(values: tuple[object, ...]) -> Callable[[str], Any]:
    by_text = {str(value): value for value in values}

    def parse(text: str) -> Any:
        try:
            return by_text[text]
        except KeyError:
            raise ValueError from None

    return parse


def _parser(annotation: object) -> tuple[Callable[[str], Any], str]:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        if "dtype" in args[1:]:
            return _parse_dtype, f"a dtype ({', '.join(DTYPE_NUMBERS)})"
        if "count" in args[1:]:
            return _parse_count, "a positive integer"
        if "unit_interval" in args[1:]:
            return _parse_unit_interval, "a number from 0 to 1"
        return _parser(args[0])
    if origin is Literal:
        return _choice(args), "one of " + ", ".join(repr(a) for a in args)
    if origin in (Union, types.UnionType):
        (inner,) = (a for a in args if a is not type(None))
        parse, words = _parser(inner)
        return lambda text: None if text.strip() == "None" else parse(text), words + " or None"
    if origin is tuple:
        item, words = _parser(args[0])
        return lambda text: _parse_tuple(text, item), f"a tuple, each entry {words}"
    simple: dict[Any, tuple[Callable[[str], Any], str]] = {
        int: (_parse_int, "an integer"),
        float: (float, "a number"),
        bool: (_parse_bool, "True or False"),
        str: (str, "a text"),
    }
    if annotation not in simple:
        raise TypeError(f"no parser for attribute annotation {annotation!r}")
    return simple[annotation]


@dataclass(frozen=True, slots=True)
class Attr:
    """One attribute of an operator: its name, parser and default; ``tuning`` has no effect."""

    name: str
    parse: Callable[[str], Any]
    accepts: str
    default: Any
    tuning: bool
    annotation: Any

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    def read(self, op: str, value: object) -> Any:
        """Returns the value of the attribute, given as a text or as a Python value."""
        text = to_text(value)
        try:
            value = self.parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            problem = f"{self.name}={shorten(text)!r}, expected {self.accepts}"
            raise AttributeValueError(f"operator {op}", problem) from None
        if isinstance(value, float) and math.isnan(value) and self.annotation is int:
            raise AttributeValueError(f"operator {op}", f"{self.name} is NaN")
        return value


def make_attr(name: str, annotation: object, default: object) -> Attr:
    parse, accepts = _parser(annotation)
    return Attr(
        name=name,
        parse=parse,
        accepts=accepts,
        default=_REQUIRED if default is inspect.Parameter.empty else default,
        tuning=TUNING in typing.get_args(annotation)[1:]
        if get_origin(annotation) is Annotated
        else False,
        annotation=annotation,
    )
