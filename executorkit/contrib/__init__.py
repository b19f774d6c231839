"""``mx.contrib``: the older place of ``mx.sym.contrib`` and ``mx.nd.contrib``.

    anchors = mx.contrib.sym.MultiBoxPrior(features, sizes=(0.2, 0.3))

``contrib.symbol`` (``sym``) and ``contrib.ndarray`` (``nd``) hold the same operators.
"""

from . import ndarray, symbol
from . import ndarray as nd
from . import symbol as sym

__all__ = ["nd", "ndarray", "sym", "symbol"]
