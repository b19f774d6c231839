"""MXNet's import path ``mxnet.optimizer.optimizer``: the names of ``mx.optimizer``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path(
    "executorkit.optimizer", "executorkit.ndarray", "executorkit.base"
)
