"""The work that an action takes, in calls of functions: the same on every machine, unlike time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_calls(action: Callable[..., object], *arguments: Any) -> int:
    """The number of calls, of Python's functions and C's, that one of ``action`` makes in this
    thread."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        action(*arguments)
    finally:
        sys.setprofile(previous)
    return count
