"""``mx.sym.sparse``: MXNet's operators on sparse arrays, here the same on dense arrays.

Results are those of the dense operators, which are equal; what has a meaning for sparse storage
only (``retain``, ``adagrad_update``) raises NotSupportedError.
"""

from ..ops.schema.operator_modules import sparse_module
from . import op

__getattr__, __dir__ = sparse_module(globals(), op)
