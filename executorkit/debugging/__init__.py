"""Diagnosis of a run: the first node that made a NaN or an infinity of finite values. A graph runs
node by node on snapshots of the arrays that a step read, which executors and groups take."""

from ..errors import NotFiniteError as NotFiniteError
from .check_finite import (
    StepSnapshot as StepSnapshot,
    check_snapshots as check_snapshots,
    complete_snapshot as complete_snapshot,
)
from .finite_report import (
    ArraySummary as ArraySummary,
    Finding as Finding,
    FiniteReport as FiniteReport,
)
