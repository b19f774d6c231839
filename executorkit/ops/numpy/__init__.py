"""The operators of ``mx.np`` and ``mx.npx``: ``_np_*``, ``_npi_*`` and ``_npx_*``.

Imported at the first look-up of one (:func:`..schema.operator_registry.numpy_ops`). Scalars have
shape (), axes may be empty, and element types are promoted as by MXNet's ``np``.
"""

from . import (
    axis_functions as axis_functions,
    contractions as contractions,
    draws as draws,
    filled_arrays as filled_arrays,
    same_operators as same_operators,
    selections as selections,
    shape_functions as shape_functions,
    ufuncs as ufuncs,
)
