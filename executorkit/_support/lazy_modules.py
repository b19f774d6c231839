"""Modules of a package that are imported on access, which saves most of ``import executorkit``."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from .garbage_collection import paused_collection
from .unserved import absent_attribute


def lazy_modules(
    package: str,
    aliases: Mapping[str, str] | None = None,
    values: Mapping[str, Callable[[], Any]] | None = None,
    members: Mapping[str, Iterable[str]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a package that imports its public modules on
    access. ``aliases`` has the modules by their other names, ``values`` functions that compute
    attributes, ``members`` the names that belong to private modules, by these. Other names are an
    AttributeError with a hint."""
    contents = vars(sys.modules[package])
    aliases = aliases or {}
    values = dict(values or {}) | {
        name: lambda module=module, name=name: getattr(import_module(f"{package}.{module}"), name)
        for module, names in (members or {}).items()
        for name in names
    }

    @lru_cache(1)
    def modules() -> frozenset[str]:
        return frozenset(m.name for m in iter_modules(contents["__path__"]) if m.name[0] != "_")

    def get(name: str) -> Any:
        if name == "__all__":  # of a star import
            return [public for public in names() if public[0] != "_"]
        if name in values:
            contents[name] = value = values[name]()
            return value
        target = aliases.get(name, name)
        if target.startswith("_") or target not in modules():
            raise AttributeError(absent_attribute(package, name, names()))
        with paused_collection():
            contents[name] = module = import_module(f"{package}.{target}")
        return module

    def names() -> list[str]:
        return sorted({*contents, *aliases, *values, *modules()})

    return get, names
