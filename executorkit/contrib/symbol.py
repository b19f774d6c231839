"""``mx.contrib.symbol``: the operators of ``mx.sym.contrib``, made when they are looked up."""

from ..symbol import contrib as _contrib

__getattr__, __dir__ = _contrib.__getattr__, _contrib.__dir__
