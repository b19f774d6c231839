"""Writes the API pages: ``python -m tests.api_pages FOLDER``.

pdoc shows only what a module defines itself, unless the module has ``__all__``. Packages name what
they re-export once, as ``from ._file import Name as Name``: here these names become ``__all__``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from types import ModuleType


def exported_names(module: ModuleType) -> list[str]:
    """A module's re-exports, its own public definitions and submodules."""
    names: set[str] = set()
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            names |= {a.name for a in statement.names if a.name == a.asname}
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
    return sorted(n for n in names if not n.startswith("_") and not _is_foreign(module, n))


def _is_foreign(module: ModuleType, name: str) -> bool:
    """True for modules but the package's own, under their names."""
    value = vars(module).get(name)
    return isinstance(value, ModuleType) and value.__name__ != f"{module.__name__}.{name}"


def name_exports(package: str = "executorkit") -> None:
    """Gives ``package``, and every public package below, ``__all__`` if it has none."""
    root = importlib.import_module(package)
    modules = pkgutil.walk_packages(root.__path__, f"{package}.")
    for name in [package, *(m.name for m in modules)]:
        if not any(part.startswith("_") for part in name.split(".")):
            module = importlib.import_module(name)
            names = exported_names(module)
            is_listed = '\n__all__ = [\n    "' in inspect.getsource(module)
            if names and "__path__" in vars(module) and not is_listed:
                vars(module)["__all__"] = names


def main(folder: str) -> None:
    """Writes the pages of the package and of all its public modules."""
    pdoc = importlib.import_module("pdoc")
    name_exports()
    pdoc.pdoc("executorkit", output_directory=Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
