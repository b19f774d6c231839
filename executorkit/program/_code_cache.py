"""Compiled code in memory: bounded caches of jitted functions, by number and by estimated bytes.

Compiled code is held in one cache for each kind: the *programs* of executors, operators that are
called on arrays (*eager*), the optimizers' *updates*, *metrics*, and small functions of *arrays*
(slices, reshapes, conversions). Each is bounded by a number of entries and by bytes; what was used
longest ago goes first, and its executables are freed at once.

An executable of XLA's CPU backend takes 1.5 MB of memory however small it is, and 3 KB more for
each instruction of its optimised HLO (measured with JAX 0.10: 16 instructions 1.46 MB, 605 3.4 MB,
2005 7.5 MB; a training step of 24 convolutions 24.5 MB, estimated 24.6; one that was loaded from a
file takes 0.1 MB). The resident memory is up to 1.7 times that, as compiling leaves holes between
what it keeps. The memory of constants and of working buffers is not counted.
"""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import jax

from ..errors import NotCompiledError
from ..jax_internals import forget_calls
from ..jaxpr_interpreter import Plan
from ..ops.platforms import this_process_only
from ._donation import Donated, call_donating
from ._environment_settings import bytes_of
from ._first_calls import (
    MAX_SHAPES,
    STAYING_SECONDS,
    FirstCalls,
    InterpretedFunction,
    call_or_interpret,
    interpretation_choice,
    is_traced_for_call,
    settings_allow,
    tracing_allowed,
)
from ._first_steps import FirstSteps
from ._program_options import current_options, forbids_interpreter

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
    """The estimated memory of an executable's code, in bytes."""
    runtime = executable.runtime_executable()
    modules = () if runtime is None else runtime.hlo_modules()
    instructions = sum(len(c.instructions()) for m in modules for c in m.computations())
    fixed = LOADED_BYTES if loaded else EXECUTABLE_BYTES
    return fixed + INSTRUCTION_BYTES * instructions


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
        """True if somebody holds it who would have to compile it again."""
        ...

    def clear(self) -> None:
        """Frees its executables; it can still be called, and compiles again then."""
        ...


#: Shapes and dtypes of the arrays of a call.
HostKey = tuple[tuple[tuple[int, ...], Any], ...]


class SmallJit:
    """A jitted function of an operator or of arrays, whose executables are small. Its first calls
    with new shapes are interpreted.

    function
        the function to call.
    executables, executable_bytes
        number of its executables, and the estimated memory of each.
    host_plans
        plans of small calls, by the key that ``host_key`` gives for their arguments: NumPy takes
        less for these than the call of a compiled program. Whoever gives ``host_key`` may run them
        where :func:`host_plans_allowed` says so.
    """

    __slots__ = (
        "__wrapped__", "_device", "_first_calls", "_first_steps", "_general_plans", "_host_key",
        "_jitted", "_kept_in", "_met_exception", "_options", "_static", "_traced_by_jax",
        "_updates", "executable_bytes", "executables", "function", "host_plans", "last_use",
    )  # fmt: skip

    in_use = False

    def __init__(
        self,
        function: Callable[..., Any],
        executable_bytes: int = SMALL_BYTES,
        static_argnums: int | Sequence[int] = (),
        device: Any = None,
        kept_in: CodeCache[SmallJit] | None = None,
        updates: bool = False,
        host_key: Callable[[tuple[Any, ...]], HostKey | None] | None = None,
        **options: Any,
    ) -> None:
        """Wraps a function of positional arguments.

        ``device`` is that of the results where the arguments have none; ``kept_in`` the cache that
        bounds it, where its owner does not put it into one; ``updates`` says that it updates
        parameters, whose first calls have a rule of their own (:meth:`call_into`); ``host_key``
        gives the key of a call in ``host_plans``, None for one that has none; ``options`` are those
        of ``jax.jit``.
        """

        if device is not None:
            options["out_shardings"] = jax.sharding.SingleDeviceSharding(device)
        self.__wrapped__ = function
        self._static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
        self._device = device
        self._options = options
        self._kept_in = kept_in
        self._updates = updates
        self._host_key = host_key
        self.executable_bytes = executable_bytes
        self.function: Callable[..., Any] = self.__call__
        self.last_use = 0
        self._start()

    def _start(self) -> None:
        """Begins without any executable."""
        function = self.__wrapped__

        @wraps(function)
        def traced(*args: Any) -> Any:
            if is_traced_for_call(self._interprets):
                self._traced_by_jax = True
                self._count()
            with this_process_only():
                return function(*args)

        self.executables = 0
        self.host_plans: dict[HostKey, Plan] = {}
        #: Plans for any shape, by the number of axes and the dtype of each array.
        self._general_plans: dict[Hashable, Plan] = {}
        self._traced_by_jax = False
        self._met_exception = False
        jitted: Any = jax.jit(traced, static_argnums=self._static, **self._options)
        self._jitted = jitted

        def count(executable: jax.stages.Compiled) -> None:
            # A background task may end after the function has begun anew.
            if self._jitted is jitted:
                self._count()

        self._first_calls = FirstCalls(jitted, self._interprets, count, self._static, self._device)
        # Parameters of equal shapes are updated one after the other at one age.
        self._first_steps = FirstSteps(self._first_calls, self._interprets_young, math.inf)

    def __call__(self, *args: Any) -> Any:
        """The results for such arguments."""
        is_new = False
        if self._first_calls.shapes:
            interpretation = self._first_calls.known(args)
            if interpretation is not None:
                return interpretation.run(args)
            is_new = self._are_new(args)
        if not is_new:
            try:
                results = self._jitted(*args)
            except NotCompiledError:
                # The rest is outside of this block, lest its exceptions name this one.
                self._met_exception = True
            else:
                if self._met_exception:
                    self._call_from_c()
                return results
        if self._first_calls.full or len(self.host_plans) >= MAX_SHAPES:
            self.clear()
        key = None if self._host_key is None else self._host_key(args)
        interpretation = self._first_calls.first(args, may_stay=key is not None)
        if interpretation is not None:
            if key is not None and interpretation.stays:
                self.host_plans[key] = interpretation.plan
                if interpretation.plan.any_shape:
                    self._general_plans[_ranks(key)] = interpretation.plan
            return interpretation.run(args)
        with tracing_allowed():
            results = self._jitted(*args)
        self._count()
        return results

    def host_plan_for(self, key: HostKey, shapes: Sequence[tuple[int, ...]]) -> Plan | None:
        """The plan of a small call of new shapes, whose results have ``shapes``, without a trace:
        that of an earlier call whose arrays had as many axes and the same dtypes, if its steps are
        those for any shape. None if there is none, or the call is not small or must be compiled."""
        general = self._general_plans.get(_ranks(key))
        if general is None or self._interprets() is False:
            return None
        plan = general.for_shapes(shapes)
        if plan.estimate > STAYING_SECONDS:
            return None
        if len(self.host_plans) < MAX_SHAPES:
            self.host_plans[key] = plan
        return plan

    def call_into(
        self,
        results: list[Any],
        donated: Donated,
        args: tuple[Any, ...],
        age: int | None = None,
    ) -> None:
        """Appends the result for ``(donated.tree, *args)`` to ``results``, for a function whose
        first argument is donated. After any exception either it is in the list, or
        ``donated.restored()`` has the arrays that were donated. ``age`` is that of the training
        whose parameters are updated: see :mod:`._first_steps`."""
        interpretation: InterpretedFunction | None = None
        wrapped = (Donated(donated.tree), *args)
        if self._first_calls.shapes:
            interpretation = self._first_calls.known(wrapped)
        elif age is not None:
            if self._first_steps.full:
                self.clear()
            interpretation = self._first_steps.interpretation(wrapped, age)
        _, compiled = call_or_interpret(
            self._first_calls,
            interpretation,
            lambda: call_donating(self._jitted, results, donated, args),
            results,
            (donated.tree, *args),
            wrapped,
        )
        if compiled:
            self._count()

    def _call_from_c(self) -> None:
        """Lets JAX call compiled programs from C again, which it does not after an exception."""
        self._met_exception = False
        forget_calls(self._jitted)

    def _are_new(self, args: tuple[Any, ...]) -> bool:
        """True if JAX would find, in a fifth of the time that a first call takes, that it has no
        program for such arguments."""
        if self._traced_by_jax or self._interprets() is False:
            return False
        return self._first_calls.are_new(args)

    def _interprets(self) -> bool | None:
        choice = interpretation_choice(current_options().interpret)
        return False if choice is None and self._updates else choice

    def _interprets_young(self) -> bool:
        """True if updates in a young training may be interpreted."""
        return self._updates and interpretation_choice(current_options().interpret) is None

    def _count(self) -> None:
        """Counts one executable more."""
        if self._kept_in is not None:
            self._kept_in.get_or_make(self, lambda: self)
        self.executables += 1
        count_code(self.executable_bytes)

    @property
    def code_bytes(self) -> int:
        """The estimated memory of its executables, in bytes."""
        return self.executables * self.executable_bytes

    def clear(self) -> None:
        """Frees its executables; the next calls compile again."""
        # JAX's clear_cache of one function makes it look up the traces of all others again.
        self._start()


def _ranks(key: HostKey) -> Hashable:
    return tuple([(len(shape), dtype) for shape, dtype in key])


def host_plans_allowed() -> bool:
    """True where calls may be evaluated by the plans of :class:`SmallJit`."""
    return settings_allow() and not forbids_interpreter()


_C = TypeVar("_C", bound=Code)


class CodeCache(Generic[_C]):
    """The compiled code of one kind by key, bounded by number and by bytes.

    kind
        its name.
    limit
        maximum number of entries. Those that are in use do not count once they are dropped: they
        stay findable, so that equal requests share them, and their bytes count.
    share
        the part of all bytes that this kind may have.
    """

    def __init__(self, kind: str, limit: int, share: float) -> None:
        self.kind = kind
        self.limit = limit
        self._share = share
        self._entries: dict[Hashable, _C] = {}
        #: Entries beyond the limit that are still in use.
        self._dropped: dict[Hashable, _C] = {}
        self._uses = 0
        self._misses = 0
        #: Bytes in use when the last collection of garbage could not free them.
        self._needed_bytes = 0
        _caches[kind] = self

    def get(self, key: Hashable) -> _C | None:
        """The entry of a key, None if there is none."""
        entry = self._entries.get(key)
        if entry is not None:
            self._uses += 1
            entry.last_use = self._uses
        return entry

    def get_or_make(self, key: Hashable, make: Callable[[], _C]) -> _C:
        """The entry of a key, made if there is none."""
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
        """All entries, the least recently used first; those in use that were dropped included."""
        with _lock:
            entries = [*self._dropped.values(), *self._entries.values()]
        return sorted(entries, key=lambda entry: entry.last_use)

    @property
    def limit_bytes(self) -> int:
        """Maximum memory of this kind, in bytes."""
        return int(_settings.bytes * self._share)

    @property
    def bytes(self) -> int:
        """Estimated memory of all entries, in bytes."""
        with _lock:
            entries = [*self._entries.values(), *self._dropped.values()]
        return sum(entry.code_bytes for entry in entries)

    def clear(self) -> None:
        """Drops all entries; those in use keep their executables for their users."""
        with _lock:
            entries = [*self._entries.values(), *self._dropped.values()]
            self._entries.clear()
            self._dropped.clear()
        for entry in entries:
            if not entry.in_use:
                entry.clear()

    def trim(self) -> None:
        """Drops what was used longest ago until the limits hold."""
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
        """Drops entries beyond the limit, and those dropped earlier that nobody uses any more."""
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
        """The use of this cache so far, with what it does not know itself."""
        with _lock:
            return CacheInfo(
                self._uses - self._misses, self._misses, len(self._entries), self.limit,
                traces, seconds, loads, self.bytes, self.limit_bytes, kinds or {},
            )  # fmt: skip


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
    """A decorator as ``functools.lru_cache``, for functions that make compiled code."""
    return lambda make: CachedCode(make, kind, limit, share)


_caches: dict[str, CodeCache[Any]] = {}
_lock = threading.RLock()


class _Settings:
    """The maximum memory of all compiled code, and the bytes compiled since the last look."""

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
    """Bounds the memory of all compiled code, in bytes."""
    _settings.bytes = limit
    trim_code()


def function_limit_bytes() -> int:
    """Maximum memory of the executables of one function of a program, in bytes."""
    return _settings.bytes // 4


def count_code(new_bytes: int) -> None:
    """Counts the bytes of new code; looks through the caches where it has become much."""
    _settings.grown += new_bytes
    if _settings.grown > _settings.bytes * _SLACK:
        trim_code()


def trim_code() -> None:
    """Drops from every cache what is beyond its limits."""
    _settings.grown = 0
    for cache in list(_caches.values()):
        cache.trim()


def cache_infos() -> dict[str, CacheInfo]:
    """The use of each kind's cache so far in this process."""
    return {kind: cache.info() for kind, cache in _caches.items()}


_array_functions: CodeCache[SmallJit] = CodeCache("arrays", 256, 0.12)


def small_jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``jax.jit``, with its options, for a small function of positional arrays of any shapes.

    Its first calls with new shapes are interpreted. Each compilation is counted, and the function's
    executables are freed where those of such functions take more memory than they may.
    """
    if function is None:
        return lambda decorated: small_jit(decorated, **options)
    return SmallJit(function, kept_in=_array_functions, **options)
