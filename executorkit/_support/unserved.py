"""Modules of MXNet that are not served: the hint that an import or a look-up of one ends in.

from executorkit import rtc

MissingDependencyError: executorkit.rtc: it is not part of executorkit
  try: jax.experimental.pallas, or a kernel called by jax.ffi
"""

import sys
from collections.abc import Callable, Collection
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import NoReturn

from ..errors import MissingDependencyError, NotSupportedError, similar_names

_TORCH = "mx.operator.CustomOp, which may call Torch"
_KERNELS = "jax.experimental.pallas, or a kernel called by jax.ffi"

#: MXNet's modules that are not here, by name below ``mx``, with what to use instead.
ELSEWHERE = {
    "api": "the functions of mx.nd and mx.sym",
    "cython": "nothing: no extension has to be built",
    "np_symbol": "mx.sym.np",
    "rtc": _KERNELS,
    "th": _TORCH,
    "torch": _TORCH,
    "tvmop": _KERNELS,
}  # fmt: skip

_PACKAGE = __name__.partition(".")[0]


def is_name_of_package(module: str) -> bool:
    """Checks whether executorkit is imported under a name: its own, or ``mxnet``."""
    package = sys.modules.get(_PACKAGE)
    return package is not None and sys.modules.get(module) is package


class UnservedModules(MetaPathFinder):
    """The last finder of modules, which refuses MXNet's missing ones. Names that are only
    attributes of the package (``nd``, ``mod``) cannot be imported as modules, as in MXNet."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        package, _, name = fullname.partition(".")
        if not name or not is_name_of_package(package):
            return
        if name in ELSEWHERE:
            _refuse(fullname, "it is not part of executorkit", ELSEWHERE[name])
        parent, _, last = fullname.rpartition(".")
        alias = getattr(sys.modules.get(parent), last, None)
        if isinstance(alias, ModuleType) and alias.__name__ != fullname:
            problem = f"it is an attribute of {parent}, not a module"
            _refuse(fullname, problem, f"import {alias.__name__}, or from {parent} import {last}")


def _refuse(module: str, problem: str, hint: str) -> NoReturn:
    error = MissingDependencyError(module, problem, hint=hint)
    error.name = module  # pydoc.locate asks whether it is the module that it has looked for
    raise error


def attribute_getter(module: str) -> Callable[[str], NoReturn]:
    def get(name: str) -> NoReturn:
        raise AttributeError(absent_attribute(module, name))

    return get


def absent_attribute(module: str, name: str, names: Collection[str] | None = None) -> str:
    """Returns the message about a missing name of ``module``, with similar ``names``."""
    if names is None:
        names = vars(sys.modules[module])
    problem = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return problem
    path = f"{module}.{name}".partition(".")[2]
    hint = ELSEWHERE.get(path) or similar_names(name, [n for n in names if n[0] != "_"])
    return f"{problem}\n  try: {hint}" if hint else problem


def refuse_library(where: str, *args: object, **kwargs: object) -> NoReturn:
    """Raises NotSupportedError (a NotImplementedError): executorkit has no library in C."""
    problem = "it has no MXNet library"
    because = "executorkit is Python on JAX"
    hint = "functions of mx.nd; mx.operator.register, or jax.ffi, for operators of one's own"
    raise NotSupportedError(where, problem, because=because, hint=hint)


def refuse_imports() -> None:
    if not any(isinstance(finder, UnservedModules) for finder in sys.meta_path):
        sys.meta_path.append(UnservedModules())
