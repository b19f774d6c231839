"""A jitted function that counts its traces and keeps a log of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..errors import NotCompiledError
from ..jax_internals import ThreadState
from ..ops.platforms import this_process_only
from . import disk_cache
from ._background_tasks import CompileTask, submit
from ._code_cache import EXECUTABLE_BYTES, code_bytes, count_code, function_limit_bytes
from ._deferred_errors import deferred_errors
from ._donation import Donated, call_donating
from ._first_calls import (
    FirstCalls,
    InterpretedFunction,
    call_or_interpret,
    interpretation_choice,
    is_traced_for_call,
    tracing_allowed,
)
from ._first_steps import MAX_AGE, FirstSteps

#: Maximum number of shapes of one function that stay compiled; one more empties its cache.
MAX_SHAPES = 128
#: Number of traces of one function in its log.
MAX_TRACES = 32


#: Stands for the results of a call that did not take place.
_NOT_RUN: Any = object()


class CompilationCounts:
    """Process-wide numbers of traces (each is one compilation) and of executables loaded from the
    disk cache instead, and the seconds that both took."""

    def __init__(self) -> None:
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0


counters = CompilationCounts()
#: Held where counts change: programs may be compiled in several threads.
_count_lock = threading.RLock()
#: Held where background tasks are asked for, so that nobody asks for one twice.
_task_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One trace: shapes, dtypes and devices of the arguments, the seconds that it took, and
    whether the executable was loaded from the disk cache instead."""

    avals: tuple[Any, ...]
    seconds: float
    loaded: bool = False


class InstrumentedJit:
    """``jax.jit(function)``, traced with 64-bit types enabled, whose traces are counted.

    traces
        number of traces, that is, of compilations (unless JAX's persistent compilation cache
        had the executable).
    loads
        number of executables that were loaded from the disk cache instead.
    seconds
        time of those first calls: tracing, lowering and compiling, or loading.
    avals
        shapes, dtypes and devices of the arguments of the last trace.
    trace_log
        the latest traces.
    function
        the function itself, for other transformations than ``jax.jit``.
    donates
        whether the results may use the buffers of the first argument.
    compiler_options
        options of XLA's compiler.
    interpret
        whether calls are interpreted: always, never, or (None) the first ones, unless the
        environment says otherwise.
    trains
        whether it is a part of training, whose first calls have a rule of their own: see
        :meth:`call_at`.
    fingerprint
        makes a text that distinguishes this function from all others, in every process, so that its
        executables can be stored in the disk cache; None for one that is never stored.
    devices
        the devices that the function is mapped over; empty for one that runs on one device.
    code_bytes, last_use, in_use
        see :class:`Code`.
    """

    __slots__ = (
        "_compilations", "_compilations_since_clear", "_dispatcher", "_first_calls",
        "_first_steps", "_jitted", "_tasks", "_threads_to_log", "avals", "code_bytes",
        "compiler_options", "donates",
        "fingerprint", "function", "interpret", "last_use", "loads", "name", "seconds",
        "trace_log", "traces", "trains",
    )  # fmt: skip

    devices: Sequence[Any] = ()
    in_use = False

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        donates: bool = False,
        compiler_options: Mapping[str, Any] | None = None,
        fingerprint: Callable[[], str] | None = None,
        interpret: bool | None = None,
        trains: bool = False,
    ) -> None:
        self.function = function
        self.trains = trains
        self.interpret = interpret
        self.fingerprint = fingerprint
        self.name = name
        self.donates = donates
        self.compiler_options = dict(compiler_options or {})
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0
        self.avals: tuple[Any, ...] | None = None
        self.trace_log: deque[TraceRecord] = deque(maxlen=MAX_TRACES)
        self._compilations = 0
        #: Background tasks that have not ended, by the arguments that they are for.
        self._tasks: dict[Hashable, CompileTask] = {}
        #: Threads whose present call has traced (False) or loaded an executable (True).
        self._threads_to_log: dict[int, bool] = {}
        self.last_use = 0
        self._start()

    def clear(self) -> None:
        """Frees all executables; the counts stay."""
        if self._compilations_since_clear:
            dispatcher = self._dispatcher
            self._start()
            dispatcher.clear()

    def _start(self) -> None:
        """Begins without any executable."""
        self._compilations_since_clear = 0
        self.code_bytes = 0
        jitted: Any = self.transform(self._counting())
        self._jitted: Any = jitted

        def count(executable: jax.stages.Compiled) -> None:
            # A background task may end after the function has begun anew.
            if self._jitted is jitted:
                self._count_executable(executable, loaded=False)

        self._first_calls = FirstCalls(jitted, self._interprets, count)
        self._first_steps = FirstSteps(self._first_calls, self._interprets_young)
        self._dispatcher: disk_cache.CachedJit | _Direct = (
            _Direct(self._jitted)
            if self.fingerprint is None
            else disk_cache.CachedJit(
                self._jitted,
                self.fingerprint,
                (self.name, self.donates, sorted(self.compiler_options.items())),
                self._count_load,
            )
        )

    def _interprets(self) -> bool | None:
        """As ``interpret``. What is to be found on disk is compiled, so that it gets there."""
        if self.devices or self._dispatcher.caches:
            return False
        choice = interpretation_choice(self.interpret)
        return False if choice is None and self.trains else choice

    def _interprets_young(self) -> bool:
        """True if calls in a young training may be interpreted."""
        if not self.trains or self.devices or self._dispatcher.caches:
            return False
        return interpretation_choice(self.interpret) is None

    def transform(self, traced: Callable[..., Any]) -> Any:
        """The jitted form of the function; subclasses may map it over devices."""
        donated = 0 if self.donates else ()
        return jax.jit(traced, donate_argnums=donated, compiler_options=self.compiler_options)

    def _counting(self) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            is_traced_for_call(self._interprets)
            with _count_lock:
                self.traces += 1
                counters.traces += 1
                self._count_compilation(loaded=False)
            with this_process_only():
                if self.donates:
                    return self.function(args[0].tree, *args[1:])
                return self.function(*args)

        traced.__name__ = traced.__qualname__ = self.name
        return traced

    def _count_load(self) -> None:
        with _count_lock:
            self.loads += 1
            counters.loads += 1
            self._count_compilation(loaded=True)

    def _count_compilation(self, loaded: bool) -> None:
        self._compilations += 1
        self._compilations_since_clear += 1
        self._threads_to_log[threading.get_ident()] = loaded

    def __call__(self, *args: Any) -> Any:
        """The results for such arguments."""
        return self.call_at(None, *args)

    def call_at(self, age: int | None, *args: Any) -> Any:
        """The results for such arguments in a training of that age: see :mod:`._first_steps`.

        Without an age a function of training is compiled at once.
        """
        if self.donates:
            stored: list[Any] = []
            self.call_into(stored, Donated(args[0]), args[1:], age)
            return stored[0]
        if self._tasks:
            self._finish_task(args)
        before = self._compilations
        start = time.perf_counter()
        state = ThreadState()
        interpretation = None
        try:
            with jax.enable_x64(True):
                young = age is not None and (age < MAX_AGE or self._first_steps.tasks)
                if young or self._first_calls.shapes:
                    interpretation = self._interpretation(args, age)
                if interpretation is None:
                    try:
                        results = self._dispatcher.run(*args)
                    except NotCompiledError:
                        results = _NOT_RUN
                    except (TypeError, ValueError):
                        results = self._run_widened(args)
                    if results is _NOT_RUN:
                        interpretation, results = self._run_first(args)
                else:
                    results = interpretation.run(args)
        except BaseException:
            state.restore()
            raise
        if self._compilations != before:
            self._log(args, time.perf_counter() - start, compiles=interpretation is None)
        if deferred_errors.open:
            deferred_errors.follow(args, results)
        return results

    def _interpretation(self, args: tuple[Any, ...], age: int | None) -> InterpretedFunction | None:
        """The interpretation of a call; None if JAX is to be called, perhaps for the first time."""
        if self._first_calls.shapes:
            return self._first_calls.known(args)
        return None if age is None else self._first_steps.interpretation(args, age)

    def _run_first(self, args: tuple[Any, ...]) -> tuple[InterpretedFunction | None, Any]:
        """The results of the first call with arguments of such shapes, and how it was interpreted,
        if it was."""
        interpretation = self._first_calls.first(args)
        if interpretation is None:
            return None, self._run_compiling(args)
        return interpretation, interpretation.run(args)

    def _run_widened(self, args: tuple[Any, ...]) -> Any:
        """The results where an executable has refused arguments of other shapes, which it does
        before it does anything. Raises the present exception again if no other one is there."""
        if not self._dispatcher.widen():
            raise
        return self._run_compiling(args)

    def _run_compiling(self, args: tuple[Any, ...]) -> Any:
        """The results of the compiled program, compiled if it is not."""
        with tracing_allowed():
            try:
                return self._dispatcher.run(*args)
            except (TypeError, ValueError):
                return self._run_widened(args)

    def call_into(
        self,
        results: list[Any],
        donated: Donated,
        args: tuple[Any, ...],
        age: int | None = None,
    ) -> None:
        """Appends the result for ``(donated.tree, *args)`` to ``results``; ``age`` as in
        :meth:`call_at`.

        After any exception either it is in the list, or ``donated.restored()`` has the arrays that
        were donated.
        """
        if self._tasks:
            self._finish_task((donated, *args))
        before = self._compilations
        start = time.perf_counter()
        state = ThreadState()
        wrapped = (Donated(donated.tree), *args)
        try:
            with jax.enable_x64(True):
                interpretation, _ = call_or_interpret(
                    self._first_calls,
                    self._interpretation(wrapped, age),
                    lambda: self._donate_checked(results, donated, args),
                    results,
                    (donated.tree, *args),
                    wrapped,
                )
        except BaseException:
            state.restore()
            raise
        if self._compilations != before:
            self._log(
                (donated.tree, *args), time.perf_counter() - start, compiles=interpretation is None
            )
        if deferred_errors.open:
            deferred_errors.follow((donated.tree, args), results)

    def _donate_checked(self, results: list[Any], donated: Donated, args: tuple[Any, ...]) -> None:
        try:
            self._donate(results, donated, args)
        except (TypeError, ValueError):
            if not self._dispatcher.widen():
                raise
            self._donate(results, donated, args)

    def _donate(self, results: list[Any], donated: Donated, args: tuple[Any, ...]) -> None:
        function, in_c = self._dispatcher.target((donated, *args))
        if not in_c:
            donated.save()
        call_donating(function, results, donated, args)

    def _finish_task(self, args: tuple[Any, ...]) -> None:
        """Waits for the background task for such arguments, if there is one."""
        task = self._tasks.get(_signature(args))
        if task is not None:
            task.finish()

    def _wrapped(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the jitted function takes them."""
        return (Donated(args[0]), *args[1:]) if self.donates else args

    def compile(self, *args: Any) -> jax.stages.Compiled:
        """The executable for such arguments (arrays or ``ShapeDtypeStruct``), not run.

        A later call with the same shapes finds it compiled.
        """
        return self._logged(args, lambda: self._executable(args), compiles=True)

    def _executable(self, args: tuple[Any, ...]) -> jax.stages.Compiled:
        args = self._wrapped(args)
        executable = self._dispatcher.executable(args)
        return self._jitted.lower(*args).compile() if executable is None else executable

    def trace(self, *args: Any) -> jax.stages.Traced:
        """The ``jax.stages.Traced`` for such arguments; free where they were traced before."""
        return self._logged(args, lambda: self._jitted.trace(*self._wrapped(args)))

    def lower(self, *args: Any) -> jax.stages.Lowered:
        """The ``jax.stages.Lowered`` for such arguments; free where they were traced before."""
        return self._logged(args, lambda: self._jitted.lower(*self._wrapped(args)))

    def _logged(
        self, args: tuple[Any, ...], work: Callable[[], Any], compiles: bool = False
    ) -> Any:
        before = self._compilations
        start = time.perf_counter()
        with jax.enable_x64(True), tracing_allowed():
            result = work()
        if compiles:
            self._first_calls.forget(self._wrapped(args))
        if self._compilations != before:
            self._log(args, time.perf_counter() - start, compiles)
        return result

    def precompile(self, *args: Any) -> CompileTask:
        """:meth:`compile` in the background.

        A call with such arguments waits for it, or compiles itself if the task has not begun.
        """
        return self._submit(_signature(self._wrapped(args)), lambda: self.compile(*args))

    def prefetch(self, *args: Any) -> None:
        """Loads the executable for such arguments from the disk cache, in the background.

        A call with such arguments waits for it, or loads it itself if the task has not begun.
        """
        if self._dispatcher.caches:
            load, wrapped = self._dispatcher.load, self._wrapped(args)
            self._submit(
                _signature(wrapped),
                lambda: self._logged(args, lambda: load(wrapped), compiles=True),
            )

    def _submit(self, key: Hashable, work: Callable[[], Any]) -> CompileTask:
        def work_and_forget() -> None:
            try:
                work()
            finally:
                with _task_lock:
                    del self._tasks[key]

        with _task_lock:
            if key not in self._tasks:
                self._tasks[key] = submit(work_and_forget)
            return self._tasks[key]

    def jaxpr(self, *args: Any) -> Any:
        """The jaxpr of the function for such arguments."""
        with jax.enable_x64(True):
            return jax.make_jaxpr(self.function)(*args).jaxpr

    def _log(self, args: tuple[Any, ...], seconds: float, compiles: bool = True) -> None:
        """Logs a call that traced or loaded, if it was this thread that did."""
        thread = threading.get_ident()
        with _count_lock:
            if thread not in self._threads_to_log:
                return
            loaded = self._threads_to_log.pop(thread)
            self.seconds += seconds
            counters.seconds += seconds
        avals = self.avals = jax.tree.map(_aval, args)
        self.trace_log.append(TraceRecord(avals, seconds, loaded))
        if compiles:
            self._count_code(args, loaded)
        too_many = self._compilations_since_clear > MAX_SHAPES
        if too_many or self.code_bytes > function_limit_bytes():
            self.clear()

    def _count_code(self, args: tuple[Any, ...], loaded: bool) -> None:
        """Counts the code of the executable for these arguments, which has just been made."""
        wrapped = self._wrapped(args)
        executable = None
        without_hlo = contextlib.suppress(RuntimeError, ValueError, NotImplementedError)
        with jax.enable_x64(True), tracing_allowed(), without_hlo:
            executable = self._dispatcher.held(wrapped)
            if executable is None:
                executable = self._jitted.lower(*wrapped).compile()
        self._count_executable(executable, loaded)

    def _count_executable(self, executable: jax.stages.Compiled | None, loaded: bool) -> None:
        new_bytes = EXECUTABLE_BYTES
        if executable is not None:
            # Some executables have no HLO.
            with contextlib.suppress(RuntimeError, ValueError, NotImplementedError):
                new_bytes = code_bytes(executable, loaded)
        with _count_lock:
            self.code_bytes += new_bytes
        count_code(new_bytes)


class _Direct:
    """The interface of :class:`disk_cache.CachedJit` for a function that is never on disk."""

    __slots__ = ("run",)

    caches = False

    def __init__(self, jitted: Any) -> None:
        self.run = jitted

    def target(self, args: tuple[Any, ...]) -> tuple[Callable[..., Any], bool]:
        return self.run, True

    def clear(self) -> None:
        return

    def held(self, args: tuple[Any, ...]) -> None:
        return None

    def widen(self) -> bool:
        return False

    def executable(self, args: tuple[Any, ...]) -> None:
        return None

    def load(self, args: tuple[Any, ...]) -> None:
        return None


def _signature(args: tuple[Any, ...]) -> Hashable:
    """The structure of arguments, and the shapes and dtypes of their arrays."""
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple([(tuple(x.shape), x.dtype) for x in leaves])


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=getattr(x, "sharding", None))
