"""``mx.np.linalg``: linear algebra on stacks of matrices."""

from ._composed_functions import det as det, norm as norm, pinv as pinv, slogdet as slogdet
from ._table import LINALG
from .fallback import LINALG_FALLBACKS

globals().update(LINALG_FALLBACKS | LINALG)
