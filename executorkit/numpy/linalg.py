"""``mx.np.linalg``: linear algebra on stacks of matrices."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ._composed_functions import det as det, norm as norm, pinv as pinv, slogdet as slogdet
from ._table import LINALG
from .fallback import LINALG_FALLBACKS


def _with_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    return wraps(function)(lambda *args, **kwargs: tuple(function(*args, **kwargs)))


globals().update(
    LINALG_FALLBACKS | LINALG | {name: _with_tuple(LINALG[name]) for name in ("eig", "eigh", "svd")}
)
