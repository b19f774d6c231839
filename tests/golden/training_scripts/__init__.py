"""Scripts on what trains beside modules, run on both sides: MXNet's answers are stored."""

from . import callbacks, feedforward, profiling, stores, updates
from ._facts import SCRIPTS, run

__all__ = ["SCRIPTS", "callbacks", "feedforward", "profiling", "run", "stores", "updates"]
