"""Reprs of one line: the class of an object and its essentials."""

import inspect
from collections.abc import Collection, Iterable, Sequence

from ._parts import clipped

#: Maximum numbers of characters of a value, and of arrays listed.
_MAX_VALUE, _MAX_ARRAYS = 60, 4


def brief(obj: object, name: str | None, phrases: Iterable[str] = ()) -> str:
    """Returns ``<Class name: phrase, phrase>``.

    >>> brief([], "of three", ["one", "two"]), brief({}, None, []), brief({}, None, ["empty"])
    ('<list of three: one, two>', '<dict>', '<dict: empty>')
    """
    title = type(obj).__name__ + (f" {clipped(name, 80)}" if name else "")
    words = ", ".join(phrase for phrase in phrases if phrase)
    return f"<{title}: {words}>" if words else f"<{title}>"


def brief_arrays(arrays: Sequence[tuple[str, Sequence[int]]]) -> list[str]:
    words = [f"{clipped(name, 40)} {tuple(shape)}" for name, shape in arrays[:_MAX_ARRAYS]]
    hidden = len(arrays) - _MAX_ARRAYS
    return [*words, f"{hidden} more"] if hidden > 0 else words


def changed_values(obj: object, without: Collection[str] = ()) -> list[str]:
    """Returns ``name=value`` of constructor arguments that are not defaults, outermost first."""
    attributes = vars(obj)
    words: dict[str, str] = {}
    for cls in type(obj).__mro__:
        if "__init__" not in vars(cls):
            continue
        for name, parameter in inspect.signature(cls).parameters.items():
            value = attributes.get(name)
            if name in without or name in words or name not in attributes:
                continue
            is_plain = all(
                isinstance(v, str | int | float | None)
                for v in (value if isinstance(value, list | tuple) else [value])
            )
            if is_plain:
                is_default = type(parameter.default) is type(value) and value == parameter.default
                words[name] = "" if is_default else f"{name}={clipped(repr(value), _MAX_VALUE)}"
    return [word for word in words.values() if word]
