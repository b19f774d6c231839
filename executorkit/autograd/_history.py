"""The history of a training's traces, which decides whether a trace runs as one program."""

from __future__ import annotations

from ._trace import CallTrace
from ._trace_plan import serves_any_sizes

#: Number of traces that came once; from there on a new one runs call by call.
_MAX_SINGLE = 8
#: Maximum number of calls of a trace that came once and runs as one program. JAX traces a call in
#: up to 0.5 ms, which a recurrence that becomes a loop does not pay.
_MAX_CALLS = 1500
#: Maximum number of traces that are remembered; the oldest is forgotten first.
_MAX_TRACES = 512


class TraceHistory:
    """The traces that have run, and how often, in the training of a variable.

    A static network, or one of a few lengths, runs as one program from the first step on. Traces
    that keep changing (trees, episodes) run as programs eight times, then call by call until they
    recur; so do, at first, traces of very many calls. The training counts, not the process: a
    repeated training runs the same programs.
    """

    __slots__ = ("_counts", "_n_single")

    def __init__(self) -> None:
        self._counts: dict[CallTrace, int] = {}
        self._n_single = 0

    def runs_whole(self, trace: CallTrace) -> bool:
        """Returns whether a trace is to run as one program; counts it."""
        count = self._counts.get(trace, 0) + 1
        if count == 2:
            self._n_single -= 1
        elif count == 1:
            while len(self._counts) >= _MAX_TRACES:
                self._counts.pop(next(iter(self._counts)))
            self._n_single += 1
        self._counts[trace] = min(count, 2)
        is_small = self._n_single <= _MAX_SINGLE and len(trace.calls) <= _MAX_CALLS
        return count > 1 or is_small or serves_any_sizes(trace)
