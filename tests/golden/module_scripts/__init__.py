"""Scripts on modules, run on both sides: MXNet's answers are stored."""

from . import (
    buckets,
    chains,
    digits,
    files,
    fitting,
    interface,
    looking,
    predicting,
    stores,
    training,
)
from ._facts import SCRIPTS, run

__all__ = [
    "SCRIPTS",
    "buckets",
    "chains",
    "digits",
    "files",
    "fitting",
    "interface",
    "looking",
    "predicting",
    "run",
    "stores",
    "training",
]
