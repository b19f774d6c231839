"""Work measured by the number of Python calls, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(function: Callable[[], Any]) -> tuple[Any, int]:
    """The result of ``function()``, and the number of Python functions that it called."""
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return result, count
