"""Modules of a package that are imported on access, which saves most of ``import executorkit``."""

import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from pkgutil import iter_modules
from typing import Any

from .garbage_collection import paused_collection, promote_all_objects
from .unserved import absent_attribute


def lazy_modules(
    package: str,
    aliases: Mapping[str, str] | None = None,
    values: Mapping[str, Callable[[], Any]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a package that imports on access its public
    modules, and the names that it imports for type checkers. ``aliases`` has the modules by their
    other names, ``values`` functions that compute attributes. Other names are an AttributeError
    with a hint."""
    contents = vars(sys.modules[package])
    aliases, values = aliases or {}, values or {}

    @lru_cache(1)
    def members() -> dict[str, str]:
        late = contents["__loader__"].get_source(package).partition("if TYPE_CHECKING:\n")[2]
        imports = re.findall(r"from \.(\w+) import (\([^)]*\)|.*)", late)
        return {
            name: module for module, names in imports for name in re.findall(r"\bas (\w+)", names)
        }

    def imported(path: str) -> Any:
        with paused_collection():
            module = import_module(path)
        promote_all_objects()
        return module

    def get(name: str) -> Any:
        if name == "__all__":  # of a star import
            return [x for x in names() if x[0] != "_" and x != "TYPE_CHECKING"]
        if name in values:
            contents[name] = value = values[name]()
            return value
        if name in members():
            contents[name] = value = getattr(imported(f"{package}.{members()[name]}"), name)
            return value
        target = aliases.get(name, name)
        path = f"{package}.{target}"
        if target.startswith("_") or PathFinder.find_spec(path, contents["__path__"]) is None:
            raise AttributeError(absent_attribute(package, name, names()))
        contents[name] = module = imported(path)
        return module

    def names() -> list[str]:
        modules = [m.name for m in iter_modules(contents["__path__"]) if m.name[0] != "_"]
        return sorted({*contents, *aliases, *values, *members(), *modules})

    return get, names
