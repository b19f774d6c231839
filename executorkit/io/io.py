"""MXNet's import path ``mxnet.io.io``: the names of ``mx.io``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.io", "executorkit.ndarray", "executorkit.base")
