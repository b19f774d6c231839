"""MXNet's import path ``mxnet.kvstore.base``: the names of ``mx.kv``."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.kvstore", "executorkit.kvstore._kvstore")
