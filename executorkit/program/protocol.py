"""What the functions of a program have cost, together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._jit import InstrumentedJit


class Totals:
    """Sums over ``functions``."""

    if TYPE_CHECKING:

        @property
        def functions(self) -> Sequence[InstrumentedJit]: ...

    @property
    def traces(self) -> int:
        """How many traces (compilations) this program has cost so far."""
        return sum(f.traces for f in self.functions)

    @property
    def compile_seconds(self) -> float:
        """Seconds spent in calls that traced and compiled."""
        return sum(f.seconds for f in self.functions)
