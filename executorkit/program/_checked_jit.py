"""Programs whose operators check values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.value_checks import collect_checks, failed_check
from ._deferred_errors import deferred_errors
from ._donation import Donated
from ._jit import InstrumentedJit


class CheckedJit(InstrumentedJit):
    """An :class:`InstrumentedJit` of a function with checks; a failed one is raised where a result
    is read. It is never stored in the disk cache."""

    __slots__ = ()

    def _counting(self) -> Callable[..., Any]:
        return collect_checks(super()._counting())

    def call_at(self, age: int | None, *args: Any) -> Any:
        """As for other functions; a failed check is raised where a result is read."""
        results = super().call_at(age, *args)
        if self.donates:
            return results
        values, outcome = results
        deferred_errors.note(values, outcome)
        return values

    def call_into(
        self,
        results: list[Any],
        donated: Donated,
        args: tuple[Any, ...],
        age: int | None = None,
    ) -> None:
        """As for other functions; waits for the checks, so that a failed one destroys nothing."""
        donated.save()
        pairs: list[Any] = []
        super().call_into(pairs, donated, args, age)
        values, outcome = pairs[0]
        error = failed_check(outcome)
        if error is not None:
            raise error
        results.append(values)
