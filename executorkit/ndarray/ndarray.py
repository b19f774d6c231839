"""MXNet's import path ``mxnet.ndarray.ndarray``: the names of ``mx.nd``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path(
    "executorkit.ndarray", "executorkit.base", "executorkit.context", "executorkit.util"
)
