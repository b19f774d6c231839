"""MXNet's import path ``mxnet.optimizer.optimizer``: the names of ``mx.optimizer``.

Operators that MXNet's module imports for its own use, such as ``sgd_update``, are in ``mx.nd``.
"""

from ..import_path import import_path

__getattr__, __dir__ = import_path("executorkit.optimizer")
