"""Keyword options of iterators over files; as in MXNet, values may be texts: ``shuffle="True"``."""

import ast
import dataclasses
import operator
import types
import typing
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar

from ..errors import DataArgumentError

Options = TypeVar("Options")
_TRUE, _FALSE = ("true", "1"), ("false", "0")


def parse_options(kind: type[Options], where: str, keywords: Mapping[str, object]) -> Options:
    """Returns the dataclass ``kind`` of the keywords among its fields, converted to their types.
    Raises :class:`DataArgumentError` for a missing or unconvertible keyword."""
    hints = _hints(kind)
    values = {}
    for field in dataclasses.fields(typing.cast(Any, kind)):
        if field.name in keywords:
            argument = f"{where}: {field.name}"
            values[field.name] = convert_option(argument, hints[field.name], keywords[field.name])
        elif field.default is dataclasses.MISSING:
            raise DataArgumentError(f"{where}: {field.name}", "it is missing")
    return kind(**values)


@lru_cache(maxsize=32)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def convert_option(where: str, kind: object, value: object) -> Any:
    try:
        return _converted(kind, value)
    except (TypeError, ValueError, SyntaxError):
        raise DataArgumentError(where, f"{value!r}, expected {_in_words(kind)}") from None


def _converted(kind: object, value: object) -> Any:
    arguments = typing.get_args(kind)
    if _is_optional(kind):
        return None if value in (None, "None") else _converted(arguments[0], value)
    if typing.get_origin(kind) is Literal:
        if value not in arguments:
            raise ValueError
        return value
    if typing.get_origin(kind) is tuple:
        items = ast.literal_eval(value) if isinstance(value, str) else value
        items = items if isinstance(items, Iterable) else (items,)
        return tuple(_converted(arguments[0], item) for item in items)
    return {bool: _bool, int: _int, float: float, str: str}[kind](value)


def _is_optional(kind: object) -> bool:
    return isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union


def _bool(value: object) -> bool:
    text = str(value).lower()
    if text not in _TRUE + _FALSE:
        raise ValueError
    return text in _TRUE


def _int(value: Any) -> int:
    return int(value) if isinstance(value, str) else operator.index(value)


def _in_words(kind: object) -> str:
    arguments = typing.get_args(kind)
    if _is_optional(kind):
        return f"{_in_words(arguments[0])} or None"
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if typing.get_origin(kind) is tuple:
        return f"a tuple, each {_in_words(arguments[0])}"
    return {bool: "a boolean", int: "an integer", float: "a number", str: "a text"}[kind]


def warn_of_unknown(where: str, names: Iterable[str]) -> None:
    unknown = ", ".join(repr(name) for name in names)
    if unknown:
        warnings.warn(f"{where}: ignored, not known: {unknown}", stacklevel=4)
