"""Modules under MXNet's import paths that show the names of another module.

__getattr__, __dir__ = import_path("executorkit.optimizer")  # in optimizer/optimizer.py
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def import_path(target: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that shows the names of module ``target``.

    Names are looked up when they are used, so that the two can be imported in any order.
    """

    def get(name: str) -> Any:
        return getattr(import_module(target), name)

    def names() -> list[str]:
        return [name for name in dir(import_module(target)) if not name.startswith("__")]

    return get, names
