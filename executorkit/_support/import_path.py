"""Modules under MXNet's import paths that show the names of another module.

__getattr__, __dir__ = import_path("executorkit.optimizer")  # in optimizer/optimizer.py
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def import_path(*targets: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a module that shows the names of the first target.

    Other names are looked up in the other targets, but not listed. All are looked up at their use,
    so the modules can be imported in any order.
    """

    def get(name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # ``__path__`` would make it a package
            raise AttributeError(f"this module has no attribute {name!r}")
        problem: AttributeError | None = None
        for target in targets:
            try:
                return getattr(import_module(target), name)
            except AttributeError as error:
                problem = problem or error
        if name == "__all__":  # of a star import
            return [public for public in names() if not public.startswith("_")]
        assert problem is not None, targets
        raise problem

    def names() -> list[str]:
        return [name for name in dir(import_module(targets[0])) if not name.startswith("__")]

    return get, names
