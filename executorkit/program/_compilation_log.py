"""The log of a compiled function: its traces, loads and executables, and the seconds they took."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

#: Number of traces of one function in its log.
MAX_TRACES = 32


class CompilationCounts:
    """Numbers of traces (each is one compilation) and of executables loaded from the disk cache
    instead, and the seconds that both took, of all functions of a kind in this process."""

    def __init__(self) -> None:
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0


#: The counts of programs.
counters = CompilationCounts()
#: Held where counts change: programs may be compiled in several threads.
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One trace: shapes, dtypes and devices of the arguments, the seconds that it took, and
    whether the executable was loaded from the disk cache instead."""

    avals: tuple[Any, ...]
    seconds: float
    loaded: bool = False


class CompilationLog:
    """The compilations of one function.

    avals
        shapes, dtypes and devices of the arguments of the last trace; None for a small function.
    records
        the latest traces; empty for a small function.
    executables, code_bytes
        number of executables in memory, and their estimated size.
    new_traces
        number of traces since the executables were last freed.
    open
        threads whose present call has traced (False) or loaded an executable (True).
    """

    __slots__ = (
        "_counts", "avals", "code_bytes", "executables", "loads", "new_traces", "open", "records",
        "seconds", "traces",
    )  # fmt: skip

    def __init__(self, counts: CompilationCounts) -> None:
        self._counts = counts
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0
        self.avals: tuple[Any, ...] | None = None
        self.records: deque[TraceRecord] = deque(maxlen=MAX_TRACES)
        self.open: dict[int, bool] = {}
        self.begin()

    def begin(self) -> None:
        """Begins without any executable; the counts stay."""
        self.new_traces = 0
        self.executables = 0
        self.code_bytes = 0

    def count_trace(self) -> None:
        """Counts a trace of this thread."""
        self._count(loaded=False)

    def count_load(self) -> None:
        """Counts an executable that this thread loads."""
        self._count(loaded=True)

    def _count(self, loaded: bool) -> None:
        with _lock:
            for counts in (self, self._counts):
                counts.traces += not loaded
                counts.loads += loaded
            self.new_traces += 1
            self.open[threading.get_ident()] = loaded

    def note_jaxpr(self) -> None:
        """Notes a call of this thread whose jaxpr was there without a trace."""
        self.new_traces += 1
        self.open[threading.get_ident()] = True

    def drop(self) -> None:
        """Drops what this thread has begun to log."""
        self.open.pop(threading.get_ident(), None)

    def close(self, seconds: float) -> bool | None:
        """Adds the seconds of this thread's call; whether it loaded an executable, None if it
        neither traced nor loaded."""
        with _lock:
            loaded = self.open.pop(threading.get_ident(), None)
            if loaded is not None:
                self.seconds += seconds
                self._counts.seconds += seconds
        return loaded

    def add(self, avals: tuple[Any, ...], seconds: float, loaded: bool) -> None:
        """Adds a record."""
        self.avals = avals
        self.records.append(TraceRecord(avals, seconds, loaded))

    def add_executable(self, new_bytes: int) -> None:
        """Counts an executable in memory."""
        with _lock:
            self.executables += 1
            self.code_bytes += new_bytes
