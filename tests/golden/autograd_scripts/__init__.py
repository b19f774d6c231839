"""Small scripts of ``mx.autograd``, run on both sides: MXNet answers, ours is compared."""

from . import (
    backward,
    contexts,
    contrib,
    control_flow,
    dtypes,
    functions,
    grad,
    graphs,
    inplace,
    layers,
    leaves,
    scopes,
    symbols,
    views,
)
from ._facts import SCRIPTS, run

__all__ = [
    "SCRIPTS", "backward", "contexts", "contrib", "control_flow", "dtypes", "functions", "grad",
    "graphs", "inplace", "layers", "leaves", "run", "scopes", "symbols", "views",
]  # fmt: skip
