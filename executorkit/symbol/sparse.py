"""``mx.sym.sparse``: MXNet's operators on sparse arrays, here the same on dense arrays.

Operators that only sparse storage gives a meaning (``retain``, ``adagrad_update``) raise
NotSupportedError.
"""

from ..ops.schema.operator_modules import sparse_module
from . import op

__getattr__, __dir__ = sparse_module(globals(), op)
