"""``import mxnet`` that gives executorkit: the same modules under a second name."""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import MXNetError

_PACKAGE = __name__.partition(".")[0]
#: Folder of a module ``mxnet``, for processes that start with this one's ``sys.path``.
_SPAWNED = str(Path(__file__).with_name("spawned"))


class AliasedModules(MetaPathFinder, Loader):
    """The first finder of modules, for those below another name of the package: below ``mxnet``
    after :func:`install_as_mxnet`, or after ``sys.modules["mxnet"] = executorkit``. The finders of
    Python would load a second copy of each, whose classes are other classes."""

    def find_spec(self, fullname: str, path: Any = None, target: object = None) -> Any:
        alias, _, name = fullname.partition(".")
        if not name or alias == _PACKAGE or sys.modules.get(alias) is not sys.modules[_PACKAGE]:
            return None
        original = PathFinder.find_spec(f"{_PACKAGE}.{name}", path)
        if original is None:
            return None
        spec = ModuleSpec(fullname, self, origin=original.origin)
        spec.submodule_search_locations = original.submodule_search_locations
        return spec

    def exec_module(self, module: ModuleType) -> None:
        # Python then returns the entry of sys.modules; it has set __spec__ of ``module`` alone.
        alias, _, name = module.__name__.partition(".")
        import_module(f"{_PACKAGE}.{name}")
        _add_loaded(alias, f".{name}")


def _add_loaded(alias: str, path: str = "") -> None:
    # With all modules below: importing vision.alexnet would replace the function of this name.
    original = _PACKAGE + path
    for name, module in list(sys.modules.items()):
        if name == original or name.startswith(f"{original}."):
            sys.modules[alias + name.removeprefix(_PACKAGE)] = module


def install_as_mxnet() -> None:
    """Makes ``import mxnet`` give executorkit, for scripts and libraries that stay as they are.

    ``mxnet`` and all its modules are executorkit's own objects: in this process, in its forks, and
    in processes that ``multiprocessing`` starts afterwards. A second call changes nothing. Raises
    RuntimeError (MXNetError) if another ``mxnet`` is imported already.
    """
    package = sys.modules[_PACKAGE]
    imported = sys.modules.get("mxnet", package)
    if imported is not package:
        problem = f"another mxnet is imported already, from {getattr(imported, '__file__', None)}"
        raise MXNetError("install_as_mxnet", problem, hint="call it before import mxnet")
    _add_loaded("mxnet")
    if _SPAWNED not in sys.path:
        sys.path.insert(1, _SPAWNED)


def find_aliased_modules() -> None:
    """Has aliased modules found, before all other modules."""
    if not any(isinstance(finder, AliasedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, AliasedModules())
