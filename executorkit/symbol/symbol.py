"""MXNet's import path ``mxnet.symbol.symbol``: the names of ``mx.sym``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.symbol", "executorkit.base", "executorkit.context")
