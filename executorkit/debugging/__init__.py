"""Diagnosis of a run: the first node that made a NaN or an infinity of finite values.

One floor below ``executor``: a graph is run node by node on snapshots of the arrays that a step
read, which executors and groups take and hand over.
"""

from ..errors import NotFiniteError
from .check_finite import StepSnapshot, check_snapshots, complete_snapshot
from .finite_report import ArraySummary, Finding, FiniteReport

__all__ = [
    "ArraySummary",
    "Finding",
    "FiniteReport",
    "NotFiniteError",
    "StepSnapshot",
    "check_snapshots",
    "complete_snapshot",
]
