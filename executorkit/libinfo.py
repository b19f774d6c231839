"""``mx.libinfo``: the version of MXNet that executorkit follows, which has no shared library."""

from ._support.unserved import refuse_library

#: Version of MXNet whose interfaces executorkit serves.
__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raises NotSupportedError (a RuntimeError, as MXNet's), without a shared library."""
    refuse_library("libinfo.find_lib_path")


def find_include_path() -> str:
    """Raises NotSupportedError, without C headers."""
    refuse_library("libinfo.find_include_path")


def find_conf_path(prefix: str = "tvmop") -> list[str]:
    """Raises NotSupportedError, without operators of TVM."""
    refuse_library("libinfo.find_conf_path")
