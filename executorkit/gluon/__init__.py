"""``mx.gluon``: parameters and ``utils``. Blocks, trainers and losses of Gluon are not served."""

from typing import NoReturn

from .._support.unserved import ELSEWHERE
from ..errors import MissingDependencyError, explain
from . import parameter as parameter, utils as utils
from ._parameter import Constant as Constant, Parameter as Parameter
from ._parameter_dict import ParameterDict as ParameterDict

#: MXNet's names in ``gluon``.
_GLUON = frozenset({
    "Block", "HybridBlock", "SymbolBlock", "Trainer", "block", "contrib", "data", "loss",
    "model_zoo", "nn", "rnn", "trainer",
})  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    if name not in _GLUON:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    problem = "Gluon is not part of executorkit"
    because = "executorkit runs symbols, not blocks"
    hint = ELSEWHERE["gluon.nn"]
    raise MissingDependencyError(f"gluon.{name}", problem, because=because, hint=hint)
