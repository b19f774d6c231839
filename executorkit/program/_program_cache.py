"""The programs of this process by signature: bounded, counted, clearable."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from ._jit import counters
from .protocol import BaseProgram


class CacheInfo(NamedTuple):
    """The use of a cache of compiled functions so far in this process.

    hits, misses
        requests that were answered from the cache, and those that made a new entry.
    size, limit
        number of entries, and its maximum.
    traces
        number of traces (compilations) of all entries, past ones included.
    seconds
        time that traces and loads took; 0 where it is not measured.
    loads
        number of executables that were loaded from the disk cache instead of being traced.
    """

    hits: int
    misses: int
    size: int
    limit: int
    traces: int
    seconds: float = 0.0
    loads: int = 0

    @property
    def programs(self) -> int:
        """The number of entries of a cache of programs."""
        return self.size

    @property
    def functions(self) -> int:
        """The number of entries of a cache of functions."""
        return self.size


_programs: OrderedDict[Hashable, BaseProgram] = OrderedDict()
_lock = threading.Lock()
_hits = 0
_misses = 0
_limit = 256


def cached_program(key: Hashable, make: Callable[[], BaseProgram]) -> BaseProgram:
    """The program of a key, made if there is none; the least recently used one may be dropped."""
    global _hits, _misses
    with _lock:
        program = _programs.get(key)
        if program is not None:
            _hits += 1
            _programs.move_to_end(key)
            return program
        _misses += 1
        program = _programs[key] = make()
        while len(_programs) > _limit:
            _programs.popitem(last=False)
        return program


def cached_programs() -> list[BaseProgram]:
    """All cached programs, the least recently used first."""
    with _lock:
        return list(_programs.values())


def cache_info() -> CacheInfo:
    """The use of the program cache so far in this process."""
    with _lock:
        return CacheInfo(
            _hits, _misses, len(_programs), _limit,
            counters.traces, counters.seconds, counters.loads,
        )  # fmt: skip


def clear_cache() -> None:
    """Forgets all programs. Executors keep theirs; new ones compile again."""
    with _lock:
        _programs.clear()


def set_cache_limit(programs: int) -> None:
    """Bounds the number of cached programs; the least recently used go first."""
    global _limit
    if programs < 1:
        raise ValueError(f"the program cache needs room for at least one program, not {programs}")
    with _lock:
        _limit = programs
        while len(_programs) > _limit:
            _programs.popitem(last=False)
