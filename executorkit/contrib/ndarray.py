"""``mx.contrib.ndarray``: the operators of ``mx.nd.contrib``, made when they are looked up."""

from ..ndarray import contrib as _contrib

__getattr__, __dir__ = _contrib.__getattr__, _contrib.__dir__
