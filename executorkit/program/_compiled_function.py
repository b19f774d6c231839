"""Compiled functions: calls, compilation ahead, and the log of what was traced."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .._support.garbage_collection import paused_collection
from ..errors import NotCompiledError
from ..jax_internals import (
    forget_calls,
    in_x64,
    restore_thread,
    set_thread_x64,
    thread_differentiable,
    thread_mesh,
    thread_trace,
    thread_x64,
)
from ..jaxpr_interpreter import Plan
from ..jaxprs import FlatProgram
from ..ops.tracing import this_process_only
from ..ops.value_checks import collect_checks, failed_check
from . import disk_cache
from ._background_tasks import CompileTask, submit
from ._code_cache import (
    EXECUTABLE_BYTES,
    SMALL_BYTES,
    CodeCache,
    code_bytes,
    count_code,
    function_limit_bytes,
)
from ._compiler_threads import compiler_threads
from ._deferred_errors import deferred_errors
from ._donation import Donated, stored
from ._first_calls import (
    ALWAYS,
    BY_COUNT,
    MAX_AGE,
    MAX_TRAININGS,
    NEVER,
    ByAge,
    FirstCalls,
    HostKey,
    HostPlans,
    InterpretedFunction,
    Policy,
    settings_allow,
    tracing_allowed,
)
from ._program_options import chosen, current_options, forbids_interpreter

#: Maximum number of shapes of one function that stay compiled; one more empties its cache.
MAX_COMPILED_SHAPES = 128
#: Number of traces of one function in its log.
MAX_TRACES = 32
#: The environment variable that sets or forbids the interpreter.
_VARIABLE = "EXECUTORKIT_INTERPRET"


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


class _AtNextUse:
    """A part of a function that has to begin anew: it does when somebody uses the part."""

    def __init__(self, function: Any, part: str) -> None:
        self._function = function
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if getattr(self._function, self._part) is self:
            self._function._start()
        return getattr(getattr(self._function, self._part), name)


class CompiledFunction:
    """``jax.jit(function)``, traced with 64-bit types enabled, whose traces are counted and whose
    first calls are interpreted (:mod:`._first_calls`).

    traces
        number of traces, that is, of compilations (unless JAX's persistent compilation cache
        had the executable).
    loads
        number of executables that were loaded from the disk cache instead.
    seconds
        time of those first calls: tracing, lowering and compiling, or loading.
    avals
        shapes, dtypes and devices of the arguments of the last trace; None for a small function.
    trace_log
        the latest traces; empty for a small function.
    function
        the function itself, for other transformations than ``jax.jit``.
    donates
        whether the results may use the buffers of the first argument.
    compiler_options
        options of XLA's compiler.
    interpret
        whether calls are interpreted: always, never, or (None) the first ones, unless the
        environment says otherwise. None is the present option for a small function.
    trains
        whether it is a part of training, whose first calls have a rule of their own: see
        :meth:`call_at`.
    checks
        whether it has checks of values (:mod:`executorkit.ops.value_checks`); a failed one is
        raised where a result is read.
    fingerprint
        makes a text that is equal in all processes and differs from that of all other functions, so
        that executables can be stored in the disk cache; None for a function that is never stored.
    devices
        the devices that the function is mapped over; empty for one that runs on one device.
    executables
        number of its executables.
    host_plans
        plans of small calls by their key: NumPy takes less for these than the call of a compiled
        program. Callers that know the key run them where :func:`host_plans_allowed` says so.
    code_bytes, last_use, in_use
        see :class:`Code`.
    """

    __slots__ = (
        "_by_age", "_counts", "_device", "_dispatcher", "_executable_bytes", "_first_calls",
        "_host_key", "_jit_options", "_jitted", "_kept_in", "_large", "_program", "_refused",
        "_static", "_tasks", "_threads_to_log", "_traces_since_clear", "avals", "checks",
        "code_bytes", "compiler_options", "donates", "executables", "fingerprint", "function",
        "host_plans", "interpret", "last_use", "loads", "name", "seconds", "trace_log", "traces",
        "trains",
    )  # fmt: skip

    devices: Sequence[Any] = ()
    in_use = False

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        donates: bool = False,
        compiler_options: Mapping[str, Any] | None = None,
        fingerprint: Callable[[], str] | None = None,
        interpret: bool | None = None,
        trains: bool = False,
        *,
        checks: bool = False,
        large: bool = False,
        executable_bytes: int | None = None,
        kept_in: CodeCache[CompiledFunction] | None = None,
        counts: CompilationCounts = counters,
        host_key: Callable[[tuple[Any, ...]], HostKey | None] | None = None,
        static_argnums: int | Sequence[int] = (),
        device: Any = None,
        program: Callable[[], FlatProgram] | None = None,
        **jit_options: Any,
    ) -> None:
        """Wraps a function of positional arguments.

        ``large`` says that the disk cache is asked before anything is traced;
        ``executable_bytes`` makes it a small function, of an operator or of arrays: the estimated
        memory of each of its executables, which otherwise is counted; ``kept_in`` is the cache that
        bounds it, where its owner does not put it into one; ``counts`` is what its traces are added
        to; ``host_key`` gives the key of a call in ``host_plans``, None for one that has none;
        ``device`` is that of the results where the arguments have none; ``jit_options`` are those
        of ``jax.jit``; ``program`` gives the function as a flat program of all arrays of its
        arguments, from which the plan of first calls is made instead of another trace.
        """
        self.function = function
        self.name = name or getattr(function, "__name__", "function")
        self.donates = donates
        self.compiler_options = dict(compiler_options or {})
        self.fingerprint = None if checks else fingerprint
        self.interpret = interpret
        self.trains = trains
        self.checks = checks
        self._large = large
        self.traces = 0
        self.loads = 0
        self.seconds = 0.0
        self.avals: tuple[Any, ...] | None = None
        self.trace_log: deque[TraceRecord] = deque(maxlen=MAX_TRACES)
        self.last_use = 0
        self._executable_bytes = executable_bytes
        self._kept_in = kept_in
        self._counts = counts
        self._host_key = host_key
        self._static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
        self._device = device
        self._program = program
        if donates:
            jit_options["donate_argnums"] = 0
        if device is not None:
            jit_options["out_shardings"] = jax.sharding.SingleDeviceSharding(device)
        self._jit_options = jit_options
        # Parameters of equal shapes are updated one after the other at one age.
        self._by_age = ByAge(MAX_TRAININGS if executable_bytes is None else math.inf)
        #: A flag: JAX met an exception, and calls the function from Python until it forgets that.
        self._refused = False
        #: Background tasks that have not ended, by the arguments that they are for.
        self._tasks: dict[Hashable, CompileTask] = {}
        #: Threads whose present call has traced (False) or loaded an executable (True).
        self._threads_to_log: dict[int, bool] = {}
        self._start()

    # -- its jitted form -------------------------------------------------------------------------

    def clear(self) -> None:
        """Frees all executables; the counts stay, and the next calls compile again."""
        # JAX's clear_cache of one function makes it look up the traces of all others again.
        if self._traces_since_clear:
            dispatcher = self._dispatcher
            self._start()
            dispatcher.clear()

    def restart(self) -> Any:
        """Begins without any executable at the next call, in a forked process. Returns what holds
        the former ones, which belong to a client that is not to be called any more, not even to
        free them."""
        former = self._dispatcher, self._jitted, self._first_calls
        self._tasks.clear()
        self._dispatcher: Any = _AtNextUse(self, "_dispatcher")
        self._jitted: Any = _AtNextUse(self, "_jitted")
        self._first_calls: Any = _AtNextUse(self, "_first_calls")
        self.host_plans = HostPlans()
        return former

    def _start(self) -> None:
        """Begins without any executable."""
        self._traces_since_clear = 0
        self.executables = 0
        self.code_bytes = 0
        jitted: Any = self.transform(self._traced())

        def count(executable: jax.stages.Compiled) -> None:
            # A background task may end after the function has begun anew.
            self._threads_to_log.pop(threading.get_ident(), None)
            if self._jitted is jitted:
                self._count_executable(executable, loaded=False)

        self._jitted = jitted
        self._dispatcher = disk_cache.CachedJit(
            jitted,
            self.fingerprint,
            (self.name, self.donates, sorted(self.compiler_options.items())),
            self._count_load,
            check=lambda: self._first_calls.check_trace(),
            at_once=lambda args: self._first_calls.refuses(args),
            large=self._large,
        )
        self._first_calls = FirstCalls(
            jitted, self._dispatcher, self._policy, count, self._note_loaded_jaxpr,
            static=self._static, device=self._device, unlisted=self._executable_bytes is None,
            program=self._program,
        )  # fmt: skip
        self.host_plans = self._first_calls.host_plans

    def transform(self, traced: Callable[..., Any]) -> Any:
        """The jitted form of the function; subclasses may map it over devices."""
        return jax.jit(
            traced,
            static_argnums=self._static,
            compiler_options=self.compiler_options,
            **self._jit_options,
        )

    def _traced(self) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            self._first_calls.check_trace()
            self._count_compilation(loaded=False)
            with this_process_only(), paused_collection():
                if self.donates:
                    return self.function(args[0].tree, *args[1:])
                return self.function(*args)

        traced.__name__ = traced.__qualname__ = self.name
        return collect_checks(traced) if self.checks else traced

    def _policy(self, age: int | None) -> Policy:
        """The choice of calls that are interpreted, as the settings are now."""
        if self.devices:
            return NEVER
        option = self.interpret
        if option is None and self._executable_bytes is not None:
            option = current_options().interpret
        choice = chosen(option, _VARIABLE)
        if choice is not None:
            return ALWAYS if choice else NEVER
        if self.trains:
            return NEVER if age is None else self._by_age
        return BY_COUNT

    # -- calls -----------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """The results for such arguments."""
        if self.donates or self.checks:
            return self.call_at(None, *args)
        return self._call(args)

    def call_at(self, age: int | None, *args: Any) -> Any:
        """The results for such arguments in a training of that age: see :class:`ByAge`.

        Without an age a function of training is compiled at once.
        """
        if self.donates:
            stored: list[Any] = []
            self.call_into(stored, Donated(args[0]), args[1:], age)
            return stored[0]
        results = self._call(args, age)
        if self.checks:
            results, outcome = results
            deferred_errors.note(results, outcome)
        return results

    def call_into(
        self, results: list[Any], donated: Donated, args: tuple[Any, ...], age: int | None = None
    ) -> None:
        """Appends the result for ``(donated.tree, *args)`` to ``results``; ``age`` as in
        :meth:`call_at`.

        After any exception either it is in the list, or ``donated.restored()`` has the arrays that
        were donated. Waits for checks, so that a failed one destroys nothing.
        """
        if not self.checks:
            self._call((donated, *args), age, results)
            return
        donated.save()
        pairs: list[Any] = []
        self._call((donated, *args), age, pairs)
        values, outcome = pairs[0]
        error = failed_check(outcome)
        if error is not None:
            raise error
        results.append(values)

    def _call(
        self,
        args: tuple[Any, ...],
        age: int | None = None,
        into: list[Any] | None = None,
        is_first: bool = False,
    ) -> Any:
        """The frame of every call: returns the results and, of a function that donates, appends
        them to a list. ``is_first`` says that JAX has no program for such arguments."""
        if self._tasks:
            self._finish_task(args)
        start, first_calls = time.perf_counter(), self._first_calls
        state = thread_x64(), thread_differentiable(), thread_mesh(), thread_trace()
        interpreted: InterpretedFunction | None = None
        results: Any = None
        refused = False
        try:
            set_thread_x64(True)
            is_young = age is not None and (age < MAX_AGE or first_calls.compiling)
            if first_calls.counted or is_young or is_first:
                interpreted, is_first = self._plan(args, age, is_first)
            if is_first or interpreted is not None:
                results = self._run_first(interpreted, args, into)
            elif into is None:
                results = self._dispatcher.run(*args)
            else:
                results = self._dispatcher.donate(into, *args)
            set_thread_x64(state[0])
        except NotCompiledError:
            restore_thread(*state)
            self._refused = refused = True
        except BaseException:
            restore_thread(*state)
            self._threads_to_log.pop(threading.get_ident(), None)
            raise
        if refused:  # what comes now should not name the exception as its context
            return self._call(args, age, into, is_first=True)
        if self._refused and interpreted is None:
            self._refused = False
            forget_calls(self._jitted)
        if self._threads_to_log:
            self._log(args, time.perf_counter() - start, compiles=interpreted is None)
        if deferred_errors.open:
            # JAX counts the flattenings of what is donated, so its arrays are named themselves.
            donated = () if into is None else (args[0].tree,)
            deferred_errors.follow((*donated, *args[len(donated) :]), results)
        return results

    def _plan(
        self, args: tuple[Any, ...], age: int | None, is_first: bool
    ) -> tuple[InterpretedFunction | None, bool]:
        """The plan of a call, None where it is not interpreted; and whether JAX has no program for
        such arguments, as far as that is known."""
        if not is_first:
            first_calls = self._with_room() if age is not None else self._first_calls
            interpreted = first_calls.known(args, age)
            if interpreted is not None or not first_calls.are_new(args):
                return interpreted, False
        key = None if self._host_key is None else self._host_key(args)
        return self._with_room().first(args, key), True

    def _with_room(self) -> FirstCalls:
        """The first calls; the function begins anew if there are too many."""
        if self._first_calls.full:
            self.clear()
        return self._first_calls

    def _run_first(
        self, interpreted: InterpretedFunction | None, args: tuple[Any, ...], into: list[Any] | None
    ) -> Any:
        """The results of a call that is interpreted, or that compiles."""
        if interpreted is not None:
            return stored(interpreted.run(args), into)
        with tracing_allowed(), compiler_threads.awaited():
            self._dispatcher.obtain(args)
            if into is None:
                return self._dispatcher.run(*args)
            return self._dispatcher.donate(into, *args)

    def host_plan_for(self, key: HostKey, shapes: Sequence[tuple[int, ...]]) -> Plan | None:
        """The plan of a small call of new shapes, whose results have ``shapes``, without a trace;
        None if there is none, or the call is not small or must be compiled."""
        return None if self._policy(None) is NEVER else self.host_plans.for_new_shapes(key, shapes)

    # -- compilation ahead -----------------------------------------------------------------------

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
        return self._logged(args, lambda *wrapped: self._dispatcher.executable(wrapped), True)

    def trace(self, *args: Any) -> jax.stages.Traced:
        """The ``jax.stages.Traced`` for such arguments; free where they were traced before."""
        return self._logged(args, self._jitted.trace)

    def lower(self, *args: Any) -> jax.stages.Lowered:
        """The ``jax.stages.Lowered`` for such arguments; free where they were traced before."""
        return self._logged(args, self._jitted.lower)

    def _logged(
        self, args: tuple[Any, ...], work: Callable[..., Any], compiles: bool = False
    ) -> Any:
        start = time.perf_counter()
        wrapped = self._wrapped(args)
        with tracing_allowed():
            result = in_x64(work)(*wrapped)
        if compiles:
            self._first_calls.forget(wrapped)
        if self._threads_to_log:
            self._log(wrapped, time.perf_counter() - start, compiles)
        return result

    def precompile(self, *args: Any) -> CompileTask:
        """:meth:`compile` in the background.

        A call with such arguments waits for it, or compiles itself if the task has not begun.
        """
        return self._submit(args, lambda: self.compile(*args))

    def prefetch(self, *args: Any) -> None:
        """Loads the executable for such arguments from the disk cache, in the background, if their
        calls are never interpreted.

        A call with such arguments waits for it, or loads it itself if the task has not begun.
        """
        if self._policy(None) is not ALWAYS and self._dispatcher.caches:
            self._submit(args, lambda: self._load_ahead(args))

    def _load_ahead(self, args: tuple[Any, ...]) -> None:
        with jax.enable_x64(True):
            self._dispatcher.prefetch(self._wrapped(args))

    def _submit(self, args: tuple[Any, ...], work: Callable[[], Any]) -> CompileTask:
        key = _signature(self._wrapped(args))

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
        return in_x64(jax.make_jaxpr(self.function))(*args).jaxpr

    # -- counts ----------------------------------------------------------------------------------

    def _count_load(self) -> None:
        self._count_compilation(loaded=True)

    def _note_loaded_jaxpr(self) -> None:
        """Notes a call whose jaxpr was there without a trace: it is logged."""
        self._traces_since_clear += 1
        self._threads_to_log[threading.get_ident()] = True

    def _count_compilation(self, loaded: bool) -> None:
        with _count_lock:
            for counts in (self, self._counts):
                counts.traces += not loaded
                counts.loads += loaded
            self._traces_since_clear += 1
            self._threads_to_log[threading.get_ident()] = loaded

    def _log(self, args: tuple[Any, ...], seconds: float, compiles: bool) -> None:
        """Logs a call, with arguments as the jitted function takes them, that traced or loaded, if
        it was this thread that did."""
        with _count_lock:
            loaded = self._threads_to_log.pop(threading.get_ident(), None)
            if loaded is None:
                return
            self.seconds += seconds
            self._counts.seconds += seconds
        if self._executable_bytes is not None:
            if compiles:
                self._count_executable(None, loaded)
            return
        plain = (args[0].tree, *args[1:]) if self.donates else args
        avals = self.avals = jax.tree.map(_aval, plain)
        self.trace_log.append(TraceRecord(avals, seconds, loaded))
        if compiles:
            self._count_executable(self._compiled(args), loaded)
        too_many = self._traces_since_clear > MAX_COMPILED_SHAPES
        if too_many or self.code_bytes > function_limit_bytes():
            self.clear()

    def _compiled(self, args: tuple[Any, ...]) -> jax.stages.Compiled | None:
        """The executable for these arguments, which has just been made; None if it has no HLO."""
        without_hlo = contextlib.suppress(RuntimeError, ValueError, NotImplementedError)
        with jax.enable_x64(True), tracing_allowed(), without_hlo:
            return self._dispatcher.held(args) or self._jitted.lower(*args).compile()
        return None

    def _count_executable(self, executable: jax.stages.Compiled | None, loaded: bool) -> None:
        new_bytes = self._executable_bytes or EXECUTABLE_BYTES
        if executable is not None and self._executable_bytes is None:
            # Some executables have no HLO.
            with contextlib.suppress(RuntimeError, ValueError, NotImplementedError):
                new_bytes = code_bytes(executable, loaded)
        if self._kept_in is not None:
            self._kept_in.get_or_make(self, lambda: self)
        with _count_lock:
            self.executables += 1
            self.code_bytes += new_bytes
        count_code(new_bytes)


def _signature(args: tuple[Any, ...]) -> Hashable:
    """The structure of arguments, and the shapes and dtypes of their arrays."""
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple([(tuple(x.shape), x.dtype) for x in leaves])


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=getattr(x, "sharding", None))


def host_plans_allowed() -> bool:
    """True where calls may be evaluated by the plans of :class:`CompiledFunction`."""
    return settings_allow() and not forbids_interpreter()


_array_functions: CodeCache[CompiledFunction] = CodeCache("arrays", 256, 0.12)
_array_counts = CompilationCounts()


def small_jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``jax.jit``, with its options, for a small function of positional arrays of any shapes.

    Its first calls with new shapes are interpreted. Each compilation is counted, and the function's
    executables are freed where those of such functions take more memory than they may.
    """
    if function is None:
        return lambda decorated: small_jit(decorated, **options)
    options = {"executable_bytes": SMALL_BYTES, "counts": _array_counts} | options
    return CompiledFunction(function, kept_in=_array_functions, **options)
