"""``mx.libinfo``: the version of MXNet that executorkit follows, which has no shared library."""

from typing import NoReturn

from .errors import NotSupportedError

#: Version of MXNet whose interfaces executorkit serves.
__version__ = "1.9.1"


def _refuse(function: str) -> NoReturn:
    problem = "it has no MXNet library"
    because = "executorkit is Python on JAX"
    hint = "mx.operator.register, or jax.ffi, for operators of one's own"
    raise NotSupportedError(f"libinfo.{function}", problem, because=because, hint=hint)


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raises NotSupportedError (a RuntimeError, as MXNet's), without a shared library."""
    _refuse("find_lib_path")


def find_include_path() -> str:
    """Raises NotSupportedError, without C headers."""
    _refuse("find_include_path")


def find_conf_path(prefix: str = "tvmop") -> list[str]:
    """Raises NotSupportedError, without operators of TVM."""
    _refuse("find_conf_path")
