"""``mx.sym.contrib``: loops, branches, and operators of the contrib namespace, as ``box_nms``."""

from ._contrib_updates import adamw_update, mp_adamw_update
from ._control_flow import cond, foreach, while_loop
from ._functions import operators_of
from ._zipfian import rand_zipfian

__all__ = [
    "adamw_update",
    "cond",
    "foreach",
    "mp_adamw_update",
    "rand_zipfian",
    "while_loop",
]

__getattr__, __dir__ = operators_of(globals(), "contrib")
