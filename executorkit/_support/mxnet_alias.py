"""``import mxnet`` that gives executorkit: the same modules under a second name."""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import MXNetError
from .unserved import is_name_of_package

_PACKAGE = __name__.partition(".")[0]
#: Folder of a module ``mxnet``, for processes that start with this one's ``sys.path``.
_SPAWNED = str(Path(__file__).with_name("spawned"))

#: Modules that MXNet has at a second path, by this path below the package.
_SECOND_PATHS = {
    "ndarray.numpy": "numpy", "ndarray.numpy_extension": "numpy_extension",
    "symbol.numpy": "numpy.symbolic", "symbol.numpy_extension": "numpy_extension",
}  # fmt: skip
#: Names that NumPy had when MXNet was current, and that libraries still read.
_NUMPY_1 = {
    "float": float, "int": int, "object": object, "str": str, "complex": complex, "unicode": str,
    "float_": np.float64, "complex_": np.complex128, "bool8": np.bool_, "unicode_": np.str_,
    "string_": np.bytes_, "Inf": np.inf, "Infinity": np.inf, "infty": np.inf, "PINF": np.inf,
    "NINF": -np.inf, "NaN": np.nan, "product": np.prod, "cumproduct": np.cumprod,
    "sometrue": np.any, "alltrue": np.all, "row_stack": np.vstack, "trapz": np.trapezoid,
}  # fmt: skip


#: Modules that MXNet imports, and that libraries read from their packages.
_IMPORTED = ("multiprocessing.pool", "urllib.request")


class AliasedModules(MetaPathFinder, Loader):
    """The first finder of modules, for ``alias``, a second name of the package, for all modules
    below any second name: below ``mxnet`` after ``sys.modules["mxnet"] = executorkit``, too; and
    for second paths. The finders of Python would load a second copy, with classes of its own."""

    def __init__(self) -> None:
        self.alias: str | None = None

    def find_spec(self, fullname: str, path: Any = None, target: object = None) -> Any:
        alias, _, name = fullname.partition(".")
        original = None
        if fullname == self.alias:
            original = find_spec(_PACKAGE)
        elif _original(name) != name and is_name_of_package(alias):
            original = find_spec(f"{_PACKAGE}.{_original(name)}")
        elif name and alias != _PACKAGE and is_name_of_package(alias):
            original = PathFinder.find_spec(f"{_PACKAGE}.{name}", path)
        if original is None:
            return None
        spec = ModuleSpec(fullname, self, origin=original.origin)
        spec.submodule_search_locations = original.submodule_search_locations
        return spec

    def exec_module(self, module: ModuleType) -> None:
        # Python then returns the entry of sys.modules; it has set __spec__ of ``module`` alone.
        # With all modules below: importing vision.alexnet would replace the function of this name.
        alias = module.__name__
        name = _original(alias.partition(".")[2])
        original = import_module(f"{_PACKAGE}.{name}" if name else _PACKAGE).__name__
        for name, loaded in list(sys.modules.items()):
            if name == original or name.startswith(f"{original}."):
                sys.modules[alias + name.removeprefix(original)] = loaded


def _original(name: str) -> str:
    first = ".".join(name.split(".")[:2])
    return _SECOND_PATHS.get(first, first) + name[len(first) :]


_finder = AliasedModules()


def install_as_mxnet() -> None:
    """Makes ``import mxnet`` give executorkit, for scripts and libraries that stay as they are.

    ``mxnet`` and all its modules are executorkit's own objects: in this process, in its forks, and
    in processes that ``multiprocessing`` starts afterwards. NumPy gets back the names that MXNet's
    libraries read and that it has dropped since (``np.float``, ``np.Inf``). A second call changes
    nothing. Raises RuntimeError (MXNetError) if another ``mxnet`` is imported already.
    """
    package = sys.modules[_PACKAGE]
    imported = sys.modules.get("mxnet", package)
    if imported is not package:
        problem = f"another mxnet is imported already, from {getattr(imported, '__file__', None)}"
        raise MXNetError("install_as_mxnet", problem, hint="call it before import mxnet")
    _finder.alias = "mxnet"
    for name in _IMPORTED:
        import_module(name)
    for name, value in _NUMPY_1.items():
        if name not in vars(np):
            setattr(np, name, value)
    if _SPAWNED not in sys.path:
        sys.path.insert(1, _SPAWNED)


def find_aliased_modules() -> None:
    """Has aliased modules found, before all other modules."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
