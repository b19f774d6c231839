"""What callbacks are given, and how one or several of them are called."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

#: What a batch callback is given; MXNet's type calls itself ``BatchEndParams``.
BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])


def call_callbacks(callbacks: Any, *args: Any) -> None:
    """Calls a callback, each of a list of them, or none (None)."""
    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        if callback:
            callback(*args)
