"""Compiled functions: calls, compilation ahead, and the log of traces."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from .._support.annotations import Attrs, Function, Operands, Raw, Tree
from .._support.garbage_collection import paused_collection
from ..context import Device
from ..errors import NotCompiledError, listed
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
from ..jaxprs import FlatProgram
from ..ops.nn.conv_kernels import native_convolution
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
from ._compilation_log import CompilationCounts, CompilationLog, counters
from ._deferred_errors import deferred_errors
from ._donation import Donated
from ._first_calls import (
    FirstCalls,
    GeneralPlans,
    HostKey,
    HostPlans,
    InterpretedFunction,
    ShapesOf,
    tracing_allowed,
)
from ._program_options import chosen, current_options
from ._retained_memory import settle

#: Maximum number of shapes of one function that stay compiled; one more empties its cache.
MAX_COMPILED_SHAPES = 128
#: Maximum number of comparisons of sizes in the reason of a trace.
_MAX_CONDITIONS = 4
#: The environment variable that sets or forbids the interpreter.
_VARIABLE = "EXECUTORKIT_INTERPRET"


#: Held while background tasks are submitted, so that each is submitted once.
_task_lock = threading.RLock()


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionSettings:
    """The choices that a compiled function is made with."""

    compiler_options: Mapping[str, Any] | None = None
    #: Makes a text, equal in all processes and different for all other functions, so that
    #: executables can be stored on disk; None for a function that is never stored.
    fingerprint: Callable[[], str] | None = None
    #: True: calls are interpreted; False: never; None: the first ones, unless the environment says
    #: otherwise. None is the present option for a small function.
    interpret: bool | None = None
    #: True if it has checks of values (:mod:`executorkit.ops.value_checks`); a failed one is raised
    #: where a result is read.
    checks: bool = False
    #: The estimated memory of each executable of a small function, of an operator or of arrays;
    #: None for a program, whose memory is counted.
    executable_bytes: int | None = None
    #: The cache that bounds the function, where its owner does not put it into one.
    kept_in: CodeCache[CompiledFunction] | None = None
    counts: CompilationCounts = counters
    #: Gives the key of a call in ``host_plans``, None for one that has none.
    host_key: Callable[[Operands], HostKey | None] | None = None
    #: Of an element-wise function: maps shapes of non-empty arrays to the shapes of the results,
    #: None where they do not fit.
    output_shapes: ShapesOf | None = None
    #: True if a trace with symbols serves all sizes: not where the structure of the results depends
    #: on sizes, as the structure of residuals does.
    any_sizes: bool = True
    static_argnums: int | Sequence[int] = ()
    #: The device of the results where the arguments have none.
    device: Device | None = None
    #: Gives the function as a flat program of all arrays of its arguments, from which the plan of
    #: first calls is made instead of another trace.
    program: Callable[[], FlatProgram] | None = None
    #: True if the kernel in C computes convolutions, where it can.
    is_native: bool = False
    jit_options: Mapping[str, Any] = field(default_factory=dict)


class CompiledFunction:
    """``jax.jit(function)``, traced with 64-bit types enabled, with counted traces and interpreted
    first calls (:mod:`._first_calls`).

    host_plans
        plans of small calls by their key: NumPy takes less for these than the call of a compiled
        program. Callers that know the key run them where :func:`interpreter_enabled` says so.
    """

    __slots__ = (
        "_dispatcher", "_first_calls", "_general", "_has_raised", "_jitted", "_settings", "_tasks",
        "donates", "function", "host_plans", "last_use", "log", "name",
    )  # fmt: skip

    #: The devices that the function is mapped over; empty for one that runs on one device.
    devices: Sequence[Any] = ()
    in_use = False

    def __init__(
        self, function: Function, name: str | None = None, donates: bool = False, **settings: Any
    ) -> None:
        """Wraps a function of positional arguments; ``settings`` are :class:`FunctionSettings`."""
        #: The function itself, for other transformations than ``jax.jit``.
        self.function = function
        self.name = name or getattr(function, "__name__", "function")
        #: True if the results may use the buffers of the first argument.
        self.donates = donates
        self._settings = FunctionSettings(**settings)
        #: Its traces, loads and executables.
        self.log = CompilationLog(self._settings.counts)
        #: See :class:`Code`.
        self.last_use = 0
        #: A flag: JAX met an exception, and calls the function from Python until it forgets that.
        self._has_raised = False
        #: Background tasks that have not ended, by the arguments that they are for.
        self._tasks: dict[Hashable, CompileTask] = {}
        #: Plans for any sizes, which stay when executables are freed.
        self._general: dict[Hashable, GeneralPlans] = {}
        self._start()

    @property
    def compiler_options(self) -> Attrs:
        return dict(self._settings.compiler_options or {})

    @property
    def traces(self) -> int:
        """The number of traces; each is a compilation, unless JAX's persistent cache had it."""
        return self.log.traces

    @property
    def loads(self) -> int:
        """The number of executables that were loaded from the disk cache instead."""
        return self.log.loads

    @property
    def seconds(self) -> float:
        return self.log.seconds

    @property
    def avals(self) -> Operands | None:
        return self.log.avals

    @property
    def executables(self) -> int:
        return self.log.executables

    @property
    def code_bytes(self) -> int:
        return self.log.code_bytes

    @property
    def serves_any_sizes(self) -> bool | None:
        """True if it is traced for all sizes; None where no sizes have changed yet."""
        if not self._general:
            return None
        if any(general.problems for general in self._general.values()):
            return False
        return any(general.is_made for general in self._general.values()) or None

    @property
    def size_note(self) -> str | None:
        """Why it is traced for each size, or for parts of their range; None if it is not."""
        for plans in self._general.values():
            if plans.problems:
                return f"sizes cannot be symbols: {next(iter(plans.problems.values()))}"
        for plans in self._general.values():
            if plans.conditions:
                text = listed(plans.conditions, _MAX_CONDITIONS, " and ")
                return f"sizes are symbols where {text}"
        return None

    # -- its jitted form -------------------------------------------------------------------------

    def clear(self) -> None:
        """Frees all executables; the counts stay, and the next calls compile again."""
        # JAX's clear_cache of one function makes it look up the traces of all others again.
        if self.log.new_traces:
            dispatcher = self._dispatcher
            self._start()
            dispatcher.clear()

    def restart(self) -> Any:
        """Drops all executables, in a forked process. Returns an object that holds them: they
        belong to a client that must not be called again, not even to free them."""
        former = self._dispatcher, self._jitted, self._first_calls
        self._tasks.clear()
        # Not _start: a lock of JAX's may be held by a thread that this process does not have.
        self._jitted = self._first_calls = None
        self.host_plans = HostPlans(self._interprets)
        return former

    def _start_after_fork(self) -> None:
        if self._first_calls is None:
            self._start()

    def _start(self) -> None:
        self.log.begin()
        settings, log = self._settings, self.log
        jitted = self.transform(self._traced())

        def count(executable: jax.stages.Compiled) -> None:
            # A background task may end after the function was cleared.
            log.drop()
            if self._jitted is jitted:
                self._count_executable(executable, loaded=False)

        self._jitted: Any = jitted
        self._dispatcher: Any = disk_cache.CachedJit(
            jitted,
            None if settings.checks else settings.fingerprint,
            (self.name, self.donates, sorted(self.compiler_options.items())),
            lambda: log.count(loaded=True),
            check=lambda: self._first_calls.check_trace(),
        )
        static = settings.static_argnums
        self._first_calls: Any = FirstCalls(
            jitted, self._dispatcher, self._interprets, count, log.note_jaxpr,
            static=(static,) if isinstance(static, int) else static, device=settings.device,
            unlisted=False, program=settings.program,
            general=self._general if settings.any_sizes else None,
            output_shapes=settings.output_shapes,
        )  # fmt: skip
        self.host_plans = self._first_calls.host_plans

    def transform(self, traced: Function) -> Any:
        """Returns the jitted form of the function; subclasses may map it over devices."""
        settings = self._settings
        options = dict(settings.jit_options)
        if self.donates:
            options["donate_argnums"] = 0
        if settings.device is not None:
            options["out_shardings"] = jax.sharding.SingleDeviceSharding(settings.device)
        return jax.jit(
            traced,
            static_argnums=settings.static_argnums,
            compiler_options=self.compiler_options,
            **options,
        )

    def _traced(self) -> Function:
        def traced(*args: Tree) -> Tree:
            self._first_calls.check_trace()
            self.log.count(loaded=False)
            native = "packing" if self._settings.is_native and not self.devices else None
            if native:
                submit(native_convolution.available)  # beside the trace, and first calls
            with this_process_only(is_final=self.donates, native=native), paused_collection():
                if self.donates:
                    return self.function(args[0].tree, *args[1:])
                return self.function(*args)

        traced.__name__ = traced.__qualname__ = self.name
        return collect_checks(traced) if self._settings.checks else traced

    def _interprets(self) -> bool | None:
        """Returns True if all calls are interpreted now, False if none, None for the first ones."""
        present = current_options()
        if self.devices or present.deterministic:
            return False
        option = self._settings.interpret
        if option is None and self._settings.executable_bytes is not None:
            option = present.interpret
        return chosen(option, _VARIABLE)

    # -- calls -----------------------------------------------------------------------------------

    def __call__(self, *args: Tree) -> Tree:
        if self.donates:
            stored: list[Raw] = []
            self.call_into(stored, Donated(args[0]), args[1:])
            return stored[0]
        results = self._call(args)
        if self._settings.checks:
            results, outcome = results
            deferred_errors.note(results, outcome)
        return results

    def call_into(self, results: list[Raw], donated: Donated, args: Operands) -> None:
        """Appends the result for ``(donated.tree, *args)`` to ``results``. After any exception
        either it is in the list, or ``donated.restored()`` has the arrays that were donated. Waits
        for checks, so that a failed one destroys nothing."""
        if not self._settings.checks:
            self._call((donated, *args), results)
            return
        donated.save()
        pairs: list[Raw] = []
        self._call((donated, *args), pairs)
        values, outcome = pairs[0]
        error = failed_check(outcome)
        if error is not None:
            raise error
        results.append(values)

    def _call(self, args: Operands, into: list[Raw] | None = None, is_first: bool = False) -> Tree:
        """Runs every call; of a function that donates, appends the results to ``into``.
        ``is_first`` says that JAX has no program for such arguments."""
        if self._tasks or self._dispatcher.settles:
            self._make_ready(args)
        if self._first_calls is None:
            self._start()
        start = time.perf_counter()
        first_calls: Any = self._first_calls
        state = thread_x64(), thread_differentiable(), thread_mesh(), thread_trace()
        interpreted: InterpretedFunction | None = None
        results: Tree = None
        undecided = False
        try:
            set_thread_x64(True)
            # JAX would raise an exception to tell that it has no program.
            is_first |= into is not None and not (first_calls.unlisted or first_calls.entries)
            if first_calls.counted or is_first:
                interpreted, is_first = self._plan(args, is_first)
            if is_first or interpreted is not None:
                results = self._run_first(interpreted, args, into)
            elif into is None:
                results = self._dispatcher.run(*args)
            else:
                results = self._dispatcher.donate(into, *args)
            set_thread_x64(state[0])
        except NotCompiledError:
            restore_thread(*state)
            self._has_raised = undecided = True
        except BaseException:
            restore_thread(*state)
            self.log.drop()
            raise
        if undecided:  # what comes now should not name the exception as its context
            return self._call(args, into, is_first=True)
        if self._has_raised and interpreted is None:
            self._has_raised = False
            forget_calls(self._jitted)
        if self.log.open:
            self._log(args, time.perf_counter() - start, compiles=interpreted is None)
        if deferred_errors.open:
            deferred_errors.follow(args, results)
        return results

    def _plan(self, args: Operands, is_first: bool) -> tuple[InterpretedFunction | None, bool]:
        """Returns the plan of a call, None where it is not interpreted; and whether JAX is known to
        have no program for such arguments."""
        split = self._first_calls.split(args)
        if not is_first:
            interpreted = self._first_calls.known(args, split[1])
            if interpreted is not None or not self._first_calls.are_new(split[1]):
                return interpreted, False
        host_key = self._settings.host_key
        key = None if host_key is None else host_key(args)
        if not self._first_calls.make_room():
            self.clear()
        return self._first_calls.first(args, split, key), True

    def _run_first(
        self, interpreted: InterpretedFunction | None, args: Operands, into: list[Raw] | None
    ) -> Tree:
        if interpreted is not None:
            if into is None:
                return interpreted.run(args)
            into.append(interpreted.run(args, args[0].on_host))
            return into[0]
        if into is not None and args[0].on_host:
            return None
        with tracing_allowed():
            self._dispatcher.obtain(args)
            if into is None:
                return self._dispatcher.run(*args)
            return self._dispatcher.donate(into, *args)

    def note_sizes(self, *args: Tree) -> None:
        """Notes a call that another program runs: a call of other sizes is traced for all."""
        self._start_after_fork()
        in_x64(self._first_calls.note_sizes)(args)

    def is_new_to(self, *args: Tree) -> bool:
        """Tells whether calls with other shapes are interpreted, and none with these came."""
        calls = self._first_calls
        return calls is not None and bool(calls.counted) and calls.are_new(calls.split(args)[1])

    @property
    def may_interpret(self) -> bool:
        """True if the next call may be interpreted, so that results may stay on the host."""
        calls = self._first_calls
        if calls is None or self._settings.checks or deferred_errors.open:
            return False
        return bool(calls.counted) or not (calls.unlisted or calls.entries)

    def is_listed(self, *args: Tree) -> bool:
        calls = self._first_calls
        return calls is not None and calls.split(args)[1] in calls.entries

    # -- compilation ahead -----------------------------------------------------------------------

    def _make_ready(self, args: Operands) -> None:
        if self._dispatcher.settles:
            settle(args, self._dispatcher.settles)
        task = self._tasks.get(_signature(args)) if self._tasks else None
        if task is not None:
            task.finish()

    def _wrapped(self, args: Operands) -> Operands:
        return (Donated(args[0]), *args[1:]) if self.donates else args

    def compile(self, *args: Tree) -> jax.stages.Compiled:
        """Returns the executable for such arguments (arrays or ``ShapeDtypeStruct``), not run. A
        later call with the same shapes finds it compiled."""
        return self._logged(args, lambda *wrapped: self._dispatcher.executable(wrapped), True)

    def trace(self, *args: Tree) -> jax.stages.Traced:
        """Returns the ``jax.stages.Traced``; free where such arguments were traced before."""
        return self._logged(args, lambda *wrapped: self._jitted.trace(*wrapped))

    def lower(self, *args: Tree) -> jax.stages.Lowered:
        """Returns the ``jax.stages.Lowered``; free where such arguments were traced before."""
        return self._logged(args, lambda *wrapped: self._jitted.lower(*wrapped))

    def _logged(self, args: Operands, work: Function, compiles: bool = False) -> Any:
        self._start_after_fork()
        start = time.perf_counter()
        wrapped = self._wrapped(args)
        with tracing_allowed():
            result = in_x64(work)(*wrapped)
        if compiles:
            self._first_calls.forget(wrapped)
        if self.log.open:
            self._log(wrapped, time.perf_counter() - start, compiles)
        return result

    def precompile(self, *args: Tree) -> CompileTask:
        """Compiles in the background; a call with such arguments waits, or compiles first."""
        return self._submit(args, lambda: self.compile(*args))

    def prefetch(self, *args: Tree) -> None:
        """Loads the executable from disk in the background; a call waits, or loads it first."""
        self._start_after_fork()
        if self._interprets() is not True and self._dispatcher.caches:
            load = in_x64(self._dispatcher.prefetch)
            self._submit(args, lambda: load(self._wrapped(args)))

    def _submit(self, args: Operands, work: Callable[[], object]) -> CompileTask:
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

    def jaxpr(self, *args: Tree) -> Any:
        return in_x64(jax.make_jaxpr(self.function))(*args).jaxpr

    # -- counts ----------------------------------------------------------------------------------

    def _log(self, args: Operands, seconds: float, compiles: bool) -> None:
        """Logs a call, with the arguments of the jitted function, if it traced or loaded."""
        loaded = self.log.close(seconds)
        if loaded is None:
            return
        if self._settings.executable_bytes is not None:
            if compiles:
                self._count_executable(None, loaded)
            return
        plain = (args[0].tree, *args[1:]) if self.donates else args
        self.log.add(jax.tree.map(_aval, plain), seconds, loaded)
        if compiles:
            self._count_executable(self._compiled(args), loaded)
        too_many = self.log.new_traces > MAX_COMPILED_SHAPES
        if too_many or self.code_bytes > function_limit_bytes():
            self.clear()

    def _compiled(self, args: Operands) -> jax.stages.Compiled | None:
        without_hlo = contextlib.suppress(RuntimeError, ValueError, NotImplementedError)
        with jax.enable_x64(True), tracing_allowed(), without_hlo:
            return self._dispatcher.held(args) or self._jitted.lower(*args).compile()
        return None

    def _count_executable(self, executable: jax.stages.Compiled | None, loaded: bool) -> None:
        settings = self._settings
        new_bytes = settings.executable_bytes or EXECUTABLE_BYTES
        if executable is not None and settings.executable_bytes is None:
            # Some executables have no HLO.
            with contextlib.suppress(RuntimeError, ValueError, NotImplementedError):
                new_bytes = code_bytes(executable, loaded)
                self._dispatcher.note(executable)
        if settings.kept_in is not None:
            settings.kept_in.get_or_make(self, lambda: self)
        self.log.add_executable(new_bytes)
        count_code(new_bytes)


def _signature(args: Operands) -> Hashable:
    leaves, structure = jax.tree.flatten(args)
    return structure, tuple([(tuple(x.shape), x.dtype) for x in leaves])


def _aval(x: Raw) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=getattr(x, "sharding", None))


_array_functions: CodeCache[CompiledFunction] = CodeCache("arrays", 256, 0.12)
_array_counts = CompilationCounts()


def small_jit(function: Function | None = None, **options: Any) -> Any:
    """Compiles a small function of positional arrays of any shapes, with the options of
    ``jax.jit``. First calls with new shapes are interpreted. Each compilation is counted, and the
    executables of all such functions are bounded in bytes."""
    if function is None:
        return lambda decorated: small_jit(decorated, **options)
    options = {"executable_bytes": SMALL_BYTES, "counts": _array_counts} | options
    return CompiledFunction(function, kept_in=_array_functions, **options)
