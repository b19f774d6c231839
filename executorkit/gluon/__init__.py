"""``mx.gluon``: its module ``utils`` alone. Blocks, trainers and losses of Gluon are not served."""

from typing import NoReturn

from .._support.unserved import ELSEWHERE
from ..errors import MissingDependencyError, explain
from . import utils as utils

#: MXNet's names in ``gluon``.
_GLUON = frozenset({
    "Block", "Constant", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock", "Trainer",
    "block", "contrib", "data", "loss", "model_zoo", "nn", "parameter", "rnn", "trainer",
})  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    if name not in _GLUON:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    problem = "Gluon is not part of executorkit"
    because = "executorkit runs symbols, not blocks"
    hint = ELSEWHERE["gluon.nn"]
    raise MissingDependencyError(f"gluon.{name}", problem, because=because, hint=hint)
