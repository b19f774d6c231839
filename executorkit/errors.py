"""Exception classes: MXNet's names, which also derive from Python's matching built-ins.

A message is made by :func:`explain`: where, what was expected and received, why, what to try.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection


class MXNetError(RuntimeError):
    """Base class of every error that executorkit raises about a graph, an array or a file."""


class ShapeError(MXNetError, ValueError):
    """Shapes of a graph, an array or an assignment contradict each other."""


class DTypeError(MXNetError, TypeError):
    """Element types of a graph or an array contradict each other, or are unknown."""


class AttributeValueError(MXNetError, ValueError):
    """An operator's attribute is missing, unknown, or has a value that it cannot take."""


class InputTypeError(MXNetError, AssertionError, TypeError):
    """An operator of symbols was given something that is not a symbol as input."""


class UnknownOperatorError(MXNetError, NotImplementedError):
    """A graph names operators that are not served; the message lists all of them."""


class FileFormatError(MXNetError, ValueError):
    """A symbol or parameter file is truncated, malformed, or of an unsupported kind."""


class FileAccessError(MXNetError, OSError):
    """A symbol or parameter file cannot be opened, read or written."""


class BindError(MXNetError, ValueError):
    """The arrays given to ``bind`` do not fit the symbol."""


class NotImplementedForSymbol(MXNetError, NotImplementedError):  # noqa: N818 - MXNet's name
    """A method of NDArray that has no meaning for a Symbol."""

    def __init__(self, function: object, alias: str | None = None, *args: object) -> None:
        name = getattr(function, "__name__", str(function))
        hint = f"; use {alias} instead" if alias else ""
        super().__init__(f"{name} is not available for Symbol, only for NDArray{hint}")


def nearest(name: str, known: Collection[str]) -> str:
    """What to try for a name that is not among those known: the names like it, else all.

    >>> nearest("num_filters", ["kernel", "num_filter"])
    "'num_filter'"
    >>> nearest("zz", ["kernel", "num_filter"])
    'one of: kernel, num_filter'
    """
    return like(name, known) or "one of: " + ", ".join(known)


def like(name: str, known: Collection[str]) -> str:
    """The names like one that is not among them: ``'num_filter' or 'num_group'``."""
    return " or ".join(map(repr, difflib.get_close_matches(name, known, 3, 0.7)))


def explain(
    where: str,
    problem: str,
    *,
    because: str | None = None,
    given_by: str | None = None,
    hint: str | None = None,
) -> str:
    """The text of an error: ``where: problem`` and one indented line per known circumstance.

    >>> print(explain("node 'fc1'", "'weight' is (10, 5), expected (10, 784)", hint="reshape it"))
    node 'fc1': 'weight' is (10, 5), expected (10, 784)
      try: reshape it
    """
    lines = [f"{where}: {problem}"]
    if because:
        lines.append(f"  because {because}")
    if given_by:
        lines.append(f"  given by: {given_by}")
    if hint:
        lines.append(f"  try: {hint}")
    return "\n".join(lines)
