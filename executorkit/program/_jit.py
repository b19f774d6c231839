"""A jitted function that counts its traces, remembers what they cost, and can be asked why."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax

from ._background_tasks import CompileTask, submit
from dataclasses import dataclass
from .disk_cache.fingerprint import trace_context
from .disk_cache.store import CachedExecutable, devices_of, disk_cache_enabled

#: Maximum number of traces remembered per function.
MAX_TRACES = 32
#: So many shapes of one function stay compiled; one more empties that function's cache.
MAX_SHAPES = 128


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One trace: shapes, dtypes and devices of the arguments, the seconds that it took, and
    whether the program was loaded instead."""

    avals: tuple[Any, ...]
    seconds: float
    loaded: bool = False


class CompilationCounts:
    """Process-wide counts of traces (each is one compilation), of programs that were loaded
    instead, and the seconds that both took."""

    def __init__(self) -> None:
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0


counters = CompilationCounts()
#: Held where counts change: programs may be compiled in several threads.
_lock = threading.Lock()
#: Held where compilations are asked for, so that nobody asks for one twice.
_asking = threading.Lock()


class InstrumentedJit:
    """``jax.jit(function)``, traced with 64-bit types enabled, whose traces are counted.

    traces
        how often the function was traced, that is, compiled (unless the persistent compilation
        cache already had it).
    loads
        how often a program that an earlier process had kept was loaded instead.
    seconds
        what those first calls took: tracing, lowering and compiling, or loading.
    avals
        shapes, dtypes and devices of the arguments that it was last traced for.
    noted
        the latest traces: what the function was traced for, and the seconds of each.
    function
        the function itself, for other transformations than ``jax.jit``.
    donate
        numbers of the arguments whose buffers the results may use.
    compiler_options
        options of XLA's compiler.
    identity
        makes a text that tells this function from all others, in every process, so that what is
        compiled can be kept (``_keeping``); None for a function that has no such text.
    """

    __slots__ = (
        "_ahead", "_compiled", "_jitted", "_run", "_since_clear", "_tracing", "avals",
        "compiler_options", "donate", "function", "fingerprint_of", "loads", "name", "trace_log", "seconds",
        "traces",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        donate: tuple[int, ...] = (),
        compiler_options: Mapping[str, Any] | None = None,
        fingerprint_of: Callable[[], str] | None = None,
    ) -> None:
        self.function = function
        self.fingerprint_of = fingerprint_of
        self.name = name
        self.donate = donate
        self.compiler_options = dict(compiler_options or {})
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0
        self.avals: tuple[Any, ...] | None = None
        self.trace_log: deque[TraceRecord] = deque(maxlen=MAX_TRACES)
        self._since_clear = 0
        #: Compilations in the background that have not ended, by what they are for.
        self._ahead: dict[Hashable, CompileTask] = {}
        #: The threads whose present call has traced (True: or else loaded).
        self._tracing: dict[int, bool] = {}
        self._jitted: Any = self._transformed(self._counting())
        #: While programs are kept: what has been compiled or loaded, by what it is for.
        self._compiled: dict[Hashable, Any] = {}
        #: What is called: where programs are kept and there is one so far, that.
        self._run: Any = self._jitted if fingerprint_of is None else self._chosen

    def _counting(self) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            with _lock:
                self.traces += 1
                self._since_clear += 1
                counters.traces += 1
                self._tracing[threading.get_ident()] = False
            return self.function(*args)

        traced.__name__ = traced.__qualname__ = self.name
        return traced

    def _transformed(self, traced: Callable[..., Any]) -> Any:
        return jax.jit(traced, donate_argnums=self.donate, compiler_options=self.compiler_options)

    def __call__(self, *args: Any) -> Any:
        if self._ahead:
            task = self._ahead.get(_key(args))
            if task is not None:
                task.finish()
        before = self.traces
        start = time.perf_counter()
        with jax.enable_x64(True):
            try:
                results = self._run(*args)
            except (TypeError, ValueError):
                # A compiled program refuses arguments that it is not for before it does anything.
                if self._run in (self._jitted, self._chosen):
                    raise
                self._run = self._chosen
                results = self._chosen(*args)
        if self.traces != before:
            self._note(args, time.perf_counter() - start)
        return results

    def _chosen(self, *args: Any) -> Any:
        """Calls what is for such arguments, and settles on it if it is all there is."""
        if not disk_cache_enabled() and not self._compiled:
            self._run = self._jitted
            return self._jitted(*args)
        start = time.perf_counter()
        run = self._found(args)
        if run is not self._jitted:
            self._run = self._settled(run) if len(self._compiled) == 1 else self._chosen
        results = run(*args)
        self._note(args, time.perf_counter() - start)
        return results

    def _settled(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """Calls a compiled program as long as the settings are those that it was compiled under."""
        settings = trace_context()

        def run(*args: Any) -> Any:
            return compiled(*args) if trace_context() == settings else self._chosen(*args)

        return run

    def _found(self, args: tuple[Any, ...], new: bool = True) -> Any:
        """The compiled program for such arguments: the one at hand, a kept one, or a new one,
        which is kept then (None without ``new``). The jitted function where none can be kept."""
        key = _key(args), devices_of(jax.tree.leaves(args)), trace_context()
        found = self._compiled.get(key)
        if found is not None:
            return found
        assert self.fingerprint_of is not None
        what = self.name, self.donate, sorted(self.compiler_options.items())
        kept = CachedExecutable.of(self.fingerprint_of, what, args)
        found = self._jitted if kept is None else kept.load()
        if found is None and not new:
            return None
        if found is None:
            found = kept.compile(self._jitted.lower(*args))  # type: ignore[union-attr]
        elif kept is not None:
            with _lock:
                self.loads += 1
                self._since_clear += 1
                counters.loads += 1
                self._tracing[threading.get_ident()] = True
        self._compiled[key] = found
        return found

    def prefetch(self, *args: Any) -> None:
        """Loads in the background what an earlier process has kept for such arguments, if one has.

        A call with such arguments waits for it, or loads it itself if that has not been begun.
        """
        if self.fingerprint_of is None or not disk_cache_enabled():
            return

        def work() -> None:
            start = time.perf_counter()
            with jax.enable_x64(True):
                self._found(args, new=False)
            self._note(args, time.perf_counter() - start)

        self._do_ahead(_key(args), work)

    def lowered(self, *args: Any, compiled: bool = False) -> Any:
        """The ``jax.stages.Lowered`` for such arguments; free where they were traced before."""
        before = self.traces + self.loads
        start = time.perf_counter()
        with jax.enable_x64(True):
            found = None
            if compiled and self.fingerprint_of is not None and disk_cache_enabled():
                found = self._found(args)
            if found is None or found is self._jitted:
                lowered = self._jitted.lower(*args)
                found = lowered.compile() if compiled else lowered
        if self.traces + self.loads != before:
            self._note(args, time.perf_counter() - start)
        return found

    def compile(self, *args: Any) -> jax.stages.Compiled:
        """The compiled program for such arguments (arrays or ``ShapeDtypeStruct``), not run.

        A later call with the same shapes finds it compiled.
        """
        return self.lowered(*args, compiled=True)

    def precompile(self, *args: Any) -> CompileTask:
        """:meth:`compile` in the background.

        A call with such arguments waits for it, or compiles itself if it has not been begun.
        """
        return self._do_ahead(_key(args), lambda: self.compile(*args))

    def _do_ahead(self, key: Hashable, work: Callable[[], Any]) -> CompileTask:
        def done() -> None:
            try:
                work()
            finally:
                with _asking:
                    del self._ahead[key]

        with _asking:
            if key not in self._ahead:
                self._ahead[key] = submit(done)
            return self._ahead[key]

    def jaxpr(self, *args: Any) -> Any:
        """The jaxpr of the function for such arguments."""
        with jax.enable_x64(True):
            return jax.make_jaxpr(self.function)(*args).jaxpr

    def _note(self, args: tuple[Any, ...], seconds: float) -> None:
        """Notes what a call took that traced or loaded, if it was this thread that did."""
        thread = threading.get_ident()
        with _lock:
            if thread not in self._tracing:
                return
            loaded = self._tracing.pop(thread)
            self.seconds += seconds
            counters.seconds += seconds
        avals = self.avals = jax.tree.map(_aval, args)
        self.trace_log.append(TraceRecord(avals, seconds, loaded))
        if self._since_clear > MAX_SHAPES:
            self.clear()

    def clear(self) -> None:
        """Forgets what was compiled; the counts stay."""
        self._jitted.clear_cache()
        self._compiled.clear()
        self._run = self._jitted if self.fingerprint_of is None else self._chosen
        self._since_clear = 0


def _key(args: tuple[Any, ...]) -> Hashable:
    """The structure of arguments, and the shapes and types of their arrays."""
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple([(tuple(x.shape), x.dtype) for x in leaves])


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=getattr(x, "sharding", None))
