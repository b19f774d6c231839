"""A jitted function that counts its traces, remembers what they cost, and can be asked why."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax

from ._background import Task, submit
from ._history import MAX_TRACES, Noted

#: So many shapes of one function stay compiled; one more empties that function's cache.
MAX_SHAPES = 128


class Counters:
    """Process-wide counts of traces (each is one compilation) and the seconds they took."""

    def __init__(self) -> None:
        self.traces = 0
        self.seconds = 0.0


counters = Counters()
#: Held where counts change: programs may be compiled in several threads.
_lock = threading.Lock()
#: Held where compilations are asked for, so that nobody asks for one twice.
_asking = threading.Lock()


class Counted:
    """``jax.jit(function)``, traced with 64-bit types enabled, whose traces are counted.

    traces
        how often the function was traced, that is, compiled (unless the persistent compilation
        cache already had it).
    seconds
        what those first calls took: tracing, lowering and compiling.
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
    """

    __slots__ = (
        "_ahead", "_jitted", "_since_clear", "_tracing", "avals", "compiler_options", "donate",
        "function", "name", "noted", "seconds", "traces",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        donate: tuple[int, ...] = (),
        compiler_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self.donate = donate
        self.compiler_options = dict(compiler_options or {})
        self.traces = 0
        self.seconds = 0.0
        self.avals: tuple[Any, ...] | None = None
        self.noted: deque[Noted] = deque(maxlen=MAX_TRACES)
        self._since_clear = 0
        #: Compilations in the background that have not ended, by what they are for.
        self._ahead: dict[Hashable, Task] = {}
        #: The threads whose present call has traced.
        self._tracing: set[int] = set()
        self._jitted: Any = self._transformed(self._counting())

    def _counting(self) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            with _lock:
                self.traces += 1
                self._since_clear += 1
                counters.traces += 1
                self._tracing.add(threading.get_ident())
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
            results = self._jitted(*args)
        if self.traces != before:
            self._note(args, time.perf_counter() - start)
        return results

    def lowered(self, *args: Any, compiled: bool = False) -> Any:
        """The ``jax.stages.Lowered`` for such arguments; free where they were traced before."""
        before = self.traces
        start = time.perf_counter()
        with jax.enable_x64(True):
            lowered = self._jitted.lower(*args)
            found = lowered.compile() if compiled else lowered
        if self.traces != before:
            self._note(args, time.perf_counter() - start)
        return found

    def compile(self, *args: Any) -> jax.stages.Compiled:
        """The compiled program for such arguments (arrays or ``ShapeDtypeStruct``), not run.

        A later call with the same shapes finds it compiled.
        """
        return self.lowered(*args, compiled=True)

    def compile_ahead(self, *args: Any) -> Task:
        """:meth:`compile` in the background.

        A call with such arguments waits for it, or compiles itself if it has not been begun.
        """
        key = _key(args)

        def work() -> None:
            try:
                self.compile(*args)
            finally:
                with _asking:
                    del self._ahead[key]

        with _asking:
            if key not in self._ahead:
                self._ahead[key] = submit(work)
            return self._ahead[key]

    def jaxpr(self, *args: Any) -> Any:
        """The jaxpr of the function for such arguments."""
        with jax.enable_x64(True):
            return jax.make_jaxpr(self.function)(*args).jaxpr

    def _note(self, args: tuple[Any, ...], seconds: float) -> None:
        """Notes what a call took that traced, if the trace was this thread's."""
        thread = threading.get_ident()
        with _lock:
            if thread not in self._tracing:
                return
            self._tracing.discard(thread)
            self.seconds += seconds
            counters.seconds += seconds
        avals = self.avals = jax.tree.map(_aval, args)
        self.noted.append(Noted(avals, seconds))
        if self._since_clear > MAX_SHAPES:
            self.clear()

    def clear(self) -> None:
        """Forgets what was compiled; the counts stay."""
        self._jitted.clear_cache()
        self._since_clear = 0


def _key(args: tuple[Any, ...]) -> Hashable:
    """The structure of arguments, and the shapes and types of their arrays."""
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple([(tuple(x.shape), x.dtype) for x in leaves])


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=getattr(x, "sharding", None))
