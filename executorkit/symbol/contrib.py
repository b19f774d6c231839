"""``mx.sym.contrib``: loops, branches, and operators of the contrib namespace, as ``box_nms``."""

from ._control_flow import cond, foreach, while_loop
from ._functions import operators_of
from ._zipfian import rand_zipfian

__all__ = ["cond", "foreach", "rand_zipfian", "while_loop"]

__getattr__, __dir__ = operators_of(globals(), "contrib")
