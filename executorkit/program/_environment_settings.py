"""Settings that environment variables give: choices of three, and numbers of bytes."""

from __future__ import annotations

import os

from ..errors import ArgumentValueError

_CHOICES = {"0": False, "1": True, "auto": None, "": None}


def chosen(option: bool | None, variable: str) -> bool | None:
    """An option of a program: True (always), False (never) or None (where it pays).

    Where the option is None, the variable says '1', '0' or 'auto'; ArgumentValueError for other
    texts.
    """
    if option is not None:
        return option
    text = os.environ.get(variable, "auto")
    if text not in _CHOICES:
        raise ArgumentValueError(
            variable, f"{text!r}, expected '0' (never), '1' (always) or 'auto'"
        )
    return _CHOICES[text]


def bytes_of(variable: str, default: int, may_be_zero: bool = False) -> int:
    """The number of bytes that a variable gives; ArgumentValueError for another text, and for 0
    unless that has a meaning."""
    text = os.environ.get(variable, str(default))
    if not text.isdecimal() or not (may_be_zero or int(text)):
        least = "" if may_be_zero else " above 0"
        raise ArgumentValueError(variable, f"{text!r}, expected a number of bytes{least}")
    return int(text)
