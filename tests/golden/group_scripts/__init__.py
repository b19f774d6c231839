"""Scripts on executor groups and managers, run on both sides: MXNet's answers are stored."""

from . import buckets, interface, metrics, refusals, training
from ._facts import SCRIPTS, run

__all__ = ["SCRIPTS", "buckets", "interface", "metrics", "refusals", "run", "training"]
