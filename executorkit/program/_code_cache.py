"""Compiled code in memory: bounded caches of jitted functions, by number and by estimated bytes.

Compiled code is held in one cache for each kind: the *programs* of executors, operators that are
called on arrays (*eager*), the optimizers' *updates*, *metrics*, sums over *groups* of devices, and
small functions of *arrays* (slices, reshapes, conversions). Each is bounded by a number of entries
and by bytes; the least recently used entries go first, and their executables are freed at once.

An executable of XLA's CPU backend takes 1.5 MB of memory however small it is, and 3 KB more for
each instruction of its optimised HLO (measured with JAX 0.10: 16 instructions 1.46 MB, 605 3.4 MB,
2005 7.5 MB; a training step of 24 convolutions 24.5 MB, estimated 24.6; one loaded from a file
0.1 MB). Memory is fragmented by compiling: the resident memory is up to 1.7 times as large. The
memory of constants and of working buffers is not counted.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import jax

from ._program_options import bytes_of

#: Memory of an executable that has been compiled in this process, however small, in bytes.
EXECUTABLE_BYTES = 1_500_000
#: Memory of an executable that was loaded from a file, however small, in bytes.
LOADED_BYTES = 100_000
#: Further memory for each instruction of its optimised HLO, in bytes.
INSTRUCTION_BYTES = 3_000
#: Memory of an executable of one operator, in bytes.
SMALL_BYTES = 1_600_000
#: Maximum memory of all compiled code where the environment does not say otherwise, in bytes.
DEFAULT_BYTES = 2 << 30
#: Part of all bytes that new code may take before the caches are looked through.
_SLACK = 1 / 128
#: The environment variable with the maximum memory of compiled code, in bytes.
_VARIABLE = "EXECUTORKIT_CACHE_BYTES"


def code_bytes(executable: jax.stages.Compiled, loaded: bool = False) -> int:
    runtime = executable.runtime_executable()
    modules = () if runtime is None else runtime.hlo_modules()
    instructions = sum(len(c.instructions()) for m in modules for c in m.computations())
    fixed = LOADED_BYTES if loaded else EXECUTABLE_BYTES
    return fixed + INSTRUCTION_BYTES * instructions


class CacheInfo(NamedTuple):
    """The use of a cache of compiled functions so far in this process.

    hits, misses
        numbers of requests answered from the cache, and of requests that made a new entry.
    size, limit
        number of entries, and its maximum.
    traces
        number of traces (compilations) of all entries, past ones included.
    seconds
        time that traces and loads took; 0 where it is not measured.
    loads
        number of executables that were loaded from the disk cache instead of being traced.
    bytes, limit_bytes
        estimated memory of the compiled code, and its maximum, in bytes. Programs that executors
        still use count even where the cache has dropped them.
    kinds
        in the answer of ``mx.program.cache_info()``: the use of each cache by its name.
    """

    hits: int
    misses: int
    size: int
    limit: int
    traces: int
    seconds: float = 0.0
    loads: int = 0
    bytes: int = 0
    limit_bytes: int = 0
    kinds: Mapping[str, CacheInfo] = {}

    @property
    def programs(self) -> int:
        """The number of entries of a cache of programs."""
        return self.size

    @property
    def functions(self) -> int:
        """The number of entries of a cache of functions."""
        return self.size


class Code(Protocol):
    """An entry of a cache: one or several jitted functions.

    last_use
        a number that the cache sets; the highest one was used last.
    """

    last_use: int

    @property
    def code_bytes(self) -> int:
        """The estimated memory of its executables, in bytes."""
        ...

    @property
    def in_use(self) -> bool:
        """True if an owner would have to compile it again."""
        ...

    def clear(self) -> None:
        """Frees its executables; the next call compiles again."""
        ...


_C = TypeVar("_C", bound=Code)


class CodeCache(Generic[_C]):
    """The compiled code of one kind by key, bounded by number (``limit``) and by its ``share`` of
    all bytes. Dropped entries that are in use do not count, but their bytes do: they stay findable,
    so that equal requests share them."""

    def __init__(self, kind: str, limit: int, share: float) -> None:
        self.kind = kind
        self.limit = limit
        self._share = share
        self.begin()
        _caches[kind] = self

    def begin(self) -> None:
        self._entries: dict[Hashable, _C] = {}
        #: Entries beyond the limit that are still in use.
        self._dropped: dict[Hashable, _C] = {}
        self._uses = 0
        self._misses = 0
        #: Bytes in use when the last collection of garbage could not free them.
        self._needed_bytes = 0

    def get(self, key: Hashable) -> _C | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._uses += 1
            entry.last_use = self._uses
        return entry

    def get_or_make(self, key: Hashable, make: Callable[[], _C]) -> _C:
        entry = self.get(key)
        if entry is not None:
            return entry
        with _lock:
            self._uses += 1
            entry = self._entries.get(key) or self._dropped.pop(key, None)
            if entry is None:
                self._misses += 1
                entry = make()
            entry.last_use = self._uses
            self._entries[key] = entry
            self._drop_surplus()
        return entry

    def values(self) -> list[_C]:
        """Returns all entries, the least recently used first, with dropped ones in use."""
        with _lock:
            entries = [*self._dropped.values(), *self._entries.values()]
        return sorted(entries, key=lambda entry: entry.last_use)

    @property
    def limit_bytes(self) -> int:
        return int(_settings.bytes * self._share)

    @property
    def bytes(self) -> int:
        with _lock:
            entries = [*self._entries.values(), *self._dropped.values()]
        return sum(entry.code_bytes for entry in entries)

    def clear(self) -> None:
        with _lock:
            entries = [*self._entries.values(), *self._dropped.values()]
            self._entries.clear()
            self._dropped.clear()
        for entry in entries:
            if not entry.in_use:
                entry.clear()

    def trim(self) -> None:
        """Drops the least recently used entries until the limits hold."""
        with _lock:
            self._drop_surplus()
            self._drop_bytes()
            if self.bytes > max(self.limit_bytes, self._needed_bytes):
                # Executors are in cycles with their steps.
                gc.collect()
                self._drop_surplus()
                self._drop_bytes()
                self._needed_bytes = self.bytes + int(self.limit_bytes * 16 * _SLACK)

    def _drop_surplus(self) -> None:
        for key in [key for key, entry in self._dropped.items() if not entry.in_use]:
            self._dropped.pop(key).clear()
        surplus = len(self._entries) - self.limit
        if surplus > 0:
            for key in self._by_last_use()[:surplus]:
                self._drop(key)

    def _drop_bytes(self) -> None:
        excess = self.bytes - self.limit_bytes
        if excess <= 0:
            return
        for key in self._by_last_use():
            entry = self._entries[key]
            if excess <= 0:
                return
            if not entry.in_use:
                excess -= entry.code_bytes
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key)
        if entry.in_use:
            self._dropped[key] = entry
        else:
            entry.clear()

    def _by_last_use(self) -> list[Hashable]:
        return sorted(self._entries, key=lambda key: self._entries[key].last_use)

    def info(
        self,
        traces: int = 0,
        seconds: float = 0.0,
        loads: int = 0,
        kinds: Mapping[str, CacheInfo] | None = None,
    ) -> CacheInfo:
        with _lock:
            return CacheInfo(
                self._uses - self._misses,
                self._misses,
                len(self._entries),
                self.limit,
                traces,
                seconds=seconds,
                loads=loads,
                bytes=self.bytes,
                limit_bytes=self.limit_bytes,
                kinds=kinds or {},
            )


class CachedCode(CodeCache[_C]):
    """A function whose results are compiled code, held by their arguments."""

    def __init__(self, make: Callable[..., _C], kind: str, limit: int, share: float) -> None:
        super().__init__(kind, limit, share)
        self._make = make
        self.cache_clear = self.clear
        self.cache_info = self.info

    def __call__(self, *key: Any) -> _C:
        entry = self._entries.get(key)
        if entry is None:
            return self.get_or_make(key, lambda: self._make(*key))
        self._uses += 1
        entry.last_use = self._uses
        return entry


def cached_code(
    kind: str, limit: int, share: float
) -> Callable[[Callable[..., _C]], CachedCode[_C]]:
    """Decorates a function that makes compiled code, as ``functools.lru_cache`` does."""
    return lambda make: CachedCode(make, kind, limit, share)


_caches: dict[str, CodeCache[Any]] = {}
_lock = threading.RLock()


class _Settings:
    def __init__(self) -> None:
        self.grown = 0
        self._bytes: int | None = None

    @property
    def bytes(self) -> int:
        if self._bytes is None:
            self._bytes = bytes_of(_VARIABLE, DEFAULT_BYTES)
        return self._bytes

    @bytes.setter
    def bytes(self, limit: int) -> None:
        self._bytes = limit


_settings = _Settings()


def set_code_limit(limit: int) -> None:
    _settings.bytes = limit
    trim_code()


def function_limit_bytes() -> int:
    """Returns the maximum memory of the executables of one function of a program."""
    return _settings.bytes // 4


def count_code(new_bytes: int) -> None:
    """Counts the bytes of new code; trims the caches where it has become much."""
    _settings.grown += new_bytes
    if _settings.grown > _settings.bytes * _SLACK:
        trim_code()


def trim_code() -> None:
    _settings.grown = 0
    for cache in list(_caches.values()):
        cache.trim()


@contextmanager
def fresh_caches() -> Iterator[None]:
    """Empties all caches of compiled code for the context, and restores them and their limits."""
    owners = [*_caches.values(), _settings]
    former = [vars(owner).copy() for owner in owners]
    for cache in _caches.values():
        cache.begin()
    try:
        yield
    finally:
        for cache in _caches.values():
            cache.clear()
        for owner, contents in zip(owners, former, strict=True):
            vars(owner).update(contents)


def cache_infos() -> dict[str, CacheInfo]:
    return {kind: cache.info() for kind, cache in _caches.items()}
