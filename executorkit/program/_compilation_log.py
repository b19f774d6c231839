"""The log of a compiled function: its traces, loads and executables, and the seconds they took."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from .._support.annotations import Operands

#: Number of traces of one function in its log.
MAX_TRACES = 32


class CompilationCounts:
    """Traces (each a compilation), loads from disk, and their seconds, of a kind of function."""

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
    """One trace: avals of the arguments, seconds, and whether it was loaded from disk instead."""

    avals: Operands
    seconds: float
    loaded: bool = False


class CompilationLog:
    __slots__ = (
        "_counts", "avals", "code_bytes", "executables", "loads", "new_traces", "open", "records",
        "seconds", "traces",
    )  # fmt: skip

    def __init__(self, counts: CompilationCounts) -> None:
        self._counts = counts
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0
        #: Shapes, dtypes and devices of the arguments of the last trace; None for a small function.
        self.avals: Operands | None = None
        #: The latest traces; empty for a small function.
        self.records: deque[TraceRecord] = deque(maxlen=MAX_TRACES)
        #: Threads whose present call has traced (False) or loaded an executable (True).
        self.open: dict[int, bool] = {}
        self.begin()

    def begin(self) -> None:
        #: Number of traces since the executables were last freed.
        self.new_traces = 0
        #: Number of executables in memory, and their estimated size.
        self.executables = 0
        self.code_bytes = 0

    def count(self, loaded: bool) -> None:
        with _lock:
            for counts in (self, self._counts):
                counts.traces += not loaded
                counts.loads += loaded
            self.new_traces += 1
            self.open[threading.get_ident()] = loaded

    def note_jaxpr(self) -> None:
        """Notes a call of this thread whose jaxpr came without a trace."""
        self.new_traces += 1
        self.open[threading.get_ident()] = True

    def drop(self) -> None:
        self.open.pop(threading.get_ident(), None)

    def close(self, seconds: float) -> bool | None:
        """Adds the seconds of this thread's call; tells whether it loaded, None without a trace."""
        with _lock:
            loaded = self.open.pop(threading.get_ident(), None)
            if loaded is not None:
                self.seconds += seconds
                self._counts.seconds += seconds
        return loaded

    def add(self, avals: Operands, seconds: float, loaded: bool) -> None:
        self.avals = avals
        self.records.append(TraceRecord(avals, seconds, loaded))

    def add_executable(self, new_bytes: int) -> None:
        with _lock:
            self.executables += 1
            self.code_bytes += new_bytes
