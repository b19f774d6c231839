"""``mx.sym.contrib``: operators of the contrib namespace, as ``box_nms``."""

from ._functions import operators_of

__getattr__, __dir__ = operators_of(globals(), "contrib")
