"""``mx.contrib.amp.amp``: MXNet's import path of mixed precision."""

from typing import Any

from ..._support.import_path import import_path
from ._casting import installed

_get, __dir__ = import_path("executorkit.contrib.amp")


def __getattr__(name: str) -> Any:
    return installed() is not None if name == "_amp_initialized" else _get(name)
