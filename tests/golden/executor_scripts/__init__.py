"""Small scripts of symbolic MXNet, run on both sides: MXNet's answers are stored, ours compared."""

from . import (
    batch_norm,
    binding,
    dtypes,
    groups,
    heads,
    inference,
    monitoring,
    reference,
    reshaping,
    training,
)
from ._facts import SCRIPTS, run

__all__ = [
    "SCRIPTS", "batch_norm", "binding", "dtypes", "groups", "heads", "inference", "monitoring",
    "reference", "reshaping", "run", "training",
]  # fmt: skip
