"""An interpreter of jaxprs by NumPy: the result of a program without XLA's compilation.

:func:`plan` resolves every equation of a jaxpr once; :meth:`Plan.run` evaluates it on NumPy arrays.
Results equal XLA's within rounding: saturating conversions, C's integer division, clamped slices,
NaN as in XLA.
"""

from . import (
    _callbacks,
    _convolutions,
    _elementwise,
    _gather_scatter,
    _linear_algebra,
    _loops_and_branches,
    _random_bits,
    _reductions,
    _shapes,
    _windows,
)
from ._equations import (
    FlatJaxpr as FlatJaxpr,
    flattened as flattened,
    flattened_program as flattened_program,
)
from ._plan import Plan as Plan
from ._planner import GeneralPlan as GeneralPlan, plan as plan
from ._random_bits import hash_words as hash_words
