"""First calls of jitted functions, computed by NumPy instead of XLA.

XLA compiles the smallest program in 30 ms, a network in seconds; many programs are called once, or
a few times. So the first calls with arguments of certain shapes are traced, and their jaxpr is
interpreted (:mod:`executorkit.jaxpr_interpreter`). Calls are counted for each function and each set
of shapes, never timed, so that a run repeats bit for bit: the 16th call (the second of a program
with much work) has the program compiled in the background, and a later call waits for it and runs
it. The number of that call follows from the program's size, such that compilation should have
ended, or that scripts of a few dozens of calls end before.

A function that JAX is about to trace for a call of its own raises
:class:`~executorkit.errors.NotCompiledError`: whoever made the call then decides here, so that a
call of a compiled function costs nothing more.

Programs are compiled at once on anything but one CPU device, where the interpreter lacks a
primitive, where its estimate of the work is above what compilation takes, while the profiler
records, and where somebody asked for a compiled program. Programs of training have a rule of their
own, which does not depend on what the process has done before (:mod:`._first_steps`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from .._support.garbage_collection import paused_collection
from ..errors import NotCompiledError
from ..jax_internals import batched_device_put, forget_calls
from ..jaxpr_interpreter import Plan, plan
from ..profiler import is_recording
from ._background_tasks import CompileTask, submit
from ._environment_settings import chosen
from .disk_cache import trace_context

#: The call with the same shapes that has the program compiled in the background, and that of a
#: program whose interpretation takes more than these seconds.
_COMPILE_AT, _COMPILE_LARGE_AT, LARGE_SECONDS = 16, 2, 5e-3
#: Minimum number of calls from there to the one that first runs the compiled program, and maximum
#: number of the latter.
_MIN_CALLS, _MAX_TAKE_OVER = 4, 48
#: Estimated seconds of compiling a program, however small, and of each equation of its jaxpr.
_COMPILE_SECONDS, _EQUATION_SECONDS = 0.03, 0.0015
#: Maximum estimated seconds of a call that is interpreted for good: that of an operator on small
#: arrays, for which NumPy takes less time than the call of a compiled program.
STAYING_SECONDS = 1e-5
#: Maximum number of sets of shapes of a function that are interpreted at a time; one more and the
#: function should begin anew, so that JAX forgets their traces too.
MAX_SHAPES = 256
#: The environment variable that sets or forbids the interpreter.
_VARIABLE = "EXECUTORKIT_INTERPRET"


class _Tracing(threading.local):
    """Number of contexts in this thread in which functions may be traced to be compiled."""

    contexts = 0


_tracing = _Tracing()


@contextmanager
def tracing_allowed() -> Iterator[None]:
    """Functions may be traced in this context: for compilation, or to be looked at."""
    _tracing.contexts += 1
    try:
        yield
    finally:
        _tracing.contexts -= 1


def is_traced_for_call(interprets: Callable[[], bool | None]) -> bool:
    """True where JAX traces a function for a call of its own, False where somebody allowed to.

    Raises NotCompiledError there unless the function's calls are never interpreted.
    """
    if _tracing.contexts:
        return False
    if interprets() is not False:
        raise NotCompiledError
    return True


def interpretation_choice(option: bool | None) -> bool | None:
    """True where every call is to be interpreted, False where none is, None for first calls.

    ``option`` is that of a program; None leaves it to the environment.
    """
    return chosen(option, _VARIABLE)


class FirstCalls:
    """The calls of a jitted function whose programs are not compiled yet.

    shapes
        what is interpreted at present, by the signature of the arguments.
    """

    __slots__ = ("_choice", "_compiled", "_count", "_device", "_jitted", "_static", "shapes")

    def __init__(
        self,
        jitted: Any,
        choice: Callable[[], bool | None],
        count: Callable[[jax.stages.Compiled], object],
        static: Sequence[int] = (),
        device: Any = None,
    ) -> None:
        self._jitted = jitted
        self._choice = choice
        self._count = count
        self._static = frozenset(static)
        self._device = device
        self.shapes: dict[Hashable, Interpretation] = {}
        #: Signatures whose programs took over.
        self._compiled: set[Hashable] = set()

    @property
    def full(self) -> bool:
        """True if no further shapes should be interpreted."""
        return len(self.shapes) >= MAX_SHAPES

    def known(self, args: Sequence[Any]) -> Interpretation | None:
        """The interpretation of calls with such arguments, if the next one is to be interpreted.

        Counts the call; the one that takes over waits for the compiled program.
        """
        _, signature = self.split(args)
        entry = self.shapes.get(signature)
        if entry is None:
            return None
        if not is_recording() and entry.next_call(self.compilation, args):
            return entry
        self._end(signature)
        return None

    def are_new(self, args: Sequence[Any]) -> bool:
        """True if calls with such arguments have neither been interpreted nor compiled here."""
        _, signature = self.split(args)
        return signature not in self._compiled and signature not in self.shapes

    def first(self, args: Sequence[Any], may_stay: bool = False) -> Interpretation | None:
        """The interpretation of calls with arguments of new shapes; None where the program is to be
        compiled. Traces the function.

        With ``may_stay`` one that takes less than the call of a compiled program is left to the
        caller (``stays``), who keeps it: it is neither counted nor found again here.
        """
        entry = None
        leaves, signature = self.split(args)
        planned = None if signature in self._compiled else self.planned(args, leaves)
        if planned is not None:
            entry = _interpretation(planned, bool(self._choice()))
        if entry is None:
            self._end(signature)
            return None
        if may_stay and entry.plan.estimate <= STAYING_SECONDS:
            entry.stays = True
            return entry
        entry.next_call(self.compilation, args)
        self.shapes[signature] = entry
        return entry

    def planned(
        self, args: Sequence[Any], leaves: Sequence[Any]
    ) -> tuple[Plan, Any, _Target, frozenset[int]] | None:
        """The arguments of :class:`InterpretedFunction` for calls with such arguments; None where
        they cannot be interpreted. Traces the function."""
        target = _target(leaves, self._device)
        if target is None or not settings_allow():
            return None
        with paused_collection():
            with tracing_allowed():
                traced = self._jitted.trace(*args)
            if any(not _is_plain(aval) for aval in traced.jaxpr.out_avals):
                return None
            steps = plan(traced.jaxpr)
        return None if steps.uncovered else (steps, traced, target, self._static)

    def compile(self, args: Sequence[Any]) -> None:
        """Compiles the program for such arguments, which JAX finds at the next call."""
        with tracing_allowed():
            executable = self._jitted.lower(*args).compile()
        self._count(executable)

    def compilation(self, args: Sequence[Any]) -> Callable[[], None]:
        """:meth:`compile` for a background thread, under this thread's setting of 64-bit types."""
        x64 = _x64()

        def compile() -> None:
            with jax.enable_x64(x64):
                self.compile(args)

        return compile

    def forget(self, args: Sequence[Any]) -> None:
        """Ends the interpretation of calls with such arguments."""
        _, signature = self.split(args)
        if signature in self.shapes:
            self._end(signature)

    def _end(self, signature: Hashable) -> None:
        """Lets JAX call the compiled program from now on.

        JAX calls a function from Python, which takes ten times as long, where it has met an
        exception in the first call; so it has to forget which calls it knows.
        """
        self._compiled.add(signature)
        self.shapes.pop(signature, None)
        forget_calls(self._jitted)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], Hashable]:
        """The arrays and numbers among the arguments, and the signature of all."""
        static = self._static
        fixed = tuple([args[i] for i in sorted(static) if i < len(args)])
        leaves, structure = jax.tree.flatten(_arrays_of(args, static))
        kinds = tuple([_kind(x) for x in leaves])
        return leaves, (structure, kinds, fixed, _x64(), trace_context())


def call_or_interpret(
    first_calls: FirstCalls,
    interpretation: InterpretedFunction | None,
    call: Callable[[], object],
    results: list[Any],
    args: tuple[Any, ...],
    wrapped: tuple[Any, ...],
) -> tuple[InterpretedFunction | None, bool]:
    """Appends the result for ``args`` to ``results``: by ``interpretation`` or, if that is None, by
    ``call()``, which appends it too. Where JAX has no program for them yet, the first call decides.

    ``wrapped`` are the arguments as the jitted function takes them. Returns the interpretation that
    was used, and whether a program was compiled instead.
    """
    compiles = False
    if interpretation is None:
        try:
            call()
        except NotCompiledError:
            compiles = True  # what comes now should not name this exception as its context
    if compiles:
        interpretation = first_calls.first(wrapped)
        compiles = interpretation is None
        if compiles:
            with tracing_allowed():
                call()
    if interpretation is not None:
        results.append(interpretation.run(args))
    return interpretation, compiles


class InterpretedFunction:
    """The plan of calls with arguments of certain shapes.

    plan
        evaluates the function on NumPy arrays.
    estimate, compilation
        estimated seconds of a call, and of compiling the function's program.
    """

    __slots__ = (
        "_are_keys", "_avals", "_dtypes", "_out_tree", "_static", "_target", "compilation",
        "estimate", "plan",
    )  # fmt: skip

    def __init__(
        self, steps: Plan, traced: Any, target: _Target, static: frozenset[int] = frozenset()
    ) -> None:
        self.plan = steps
        self._static = static
        avals = traced.jaxpr.in_avals
        self._are_keys = [_is_key(a) for a in avals]
        self._dtypes = [None if _is_key(a) else a.dtype for a in avals]
        self._avals = traced.jaxpr.out_avals
        self._out_tree = traced.out_tree
        self._target = target
        self.estimate = steps.estimate
        self.compilation = _COMPILE_SECONDS + _EQUATION_SECONDS * steps.equations

    def run(self, args: Sequence[Any]) -> Any:
        """The results of a call with such arguments."""
        leaves = jax.tree.leaves(_arrays_of(args, self._static))
        host = [
            _key_data(x) if is_key else np.asarray(x, dtype)
            for x, is_key, dtype in zip(leaves, self._are_keys, self._dtypes, strict=True)
        ]
        results = self.plan.run(host)
        return jax.tree.unflatten(self._out_tree, self._target.arrays(self._avals, results))


class Interpretation(InterpretedFunction):
    """A function that is interpreted, and the number of calls so far.

    stays
        whether it is interpreted for good, and not counted.
    """

    __slots__ = ("_calls", "_compile_at", "_take_over_at", "_task", "stays")

    def __init__(
        self, steps: Plan, traced: Any, target: _Target, static: frozenset[int], always: bool
    ) -> None:
        super().__init__(steps, traced, target, static)
        self.stays = False
        self._compile_at, self._take_over_at = math.inf, math.inf
        if not always:
            self._compile_at = _COMPILE_LARGE_AT if self.estimate > LARGE_SECONDS else _COMPILE_AT
            calls = max(round(self.compilation / max(self.estimate, 1e-3)), _MIN_CALLS)
            self._take_over_at = min(self._compile_at + calls, _MAX_TAKE_OVER)
        self._calls = 0
        self._task: CompileTask | None = None

    def next_call(
        self, compilation: Callable[[Sequence[Any]], Callable[[], None]], args: Any
    ) -> bool:
        """Counts a call; False if it is the first that runs the compiled program.

        ``compilation(args)`` makes the function that compiles.
        """
        self._calls += 1
        if self._calls >= self._take_over_at:
            if self._task is not None:
                self._task.finish()
            return False
        if self._calls == self._compile_at:
            self._task = submit(compilation(args))
        return True


class _Target:
    """The CPU device of a call's results, and whether they are bound to it."""

    __slots__ = ("_bound", "_devices", "_sharding")

    def __init__(self, device: Any, bound: bool) -> None:
        self._bound = bound
        self._devices = [device]
        self._sharding = jax.sharding.SingleDeviceSharding(device)

    def arrays(self, avals: Sequence[Any], results: Sequence[np.ndarray]) -> list[jax.Array]:
        """Device arrays that take over arrays on the host."""
        sharding, devices, bound = self._sharding, self._devices, self._bound
        return [
            batched_device_put(aval, sharding, [x], devices, bound)
            for aval, x in zip(avals, results, strict=True)
        ]


@lru_cache(maxsize=64)
def _target_of(device: Any, bound: bool) -> _Target:
    return _Target(device, bound)


def _target(leaves: Sequence[Any], device: Any) -> _Target | None:
    """The place of a call's results; None if that is not one CPU device."""
    devices = set() if device is None else {device}
    bound = device is not None
    for x in leaves:
        if isinstance(x, Tracer):
            return None
        if isinstance(x, jax.Array):
            devices |= x.devices()
            bound = bound or x.committed
    if len(devices) > 1 or any(d.platform != "cpu" for d in devices):
        return None
    if bound:
        return _target_of(next(iter(devices)), True)
    default = _default_device()
    return _target_of(default, False) if default.platform == "cpu" else None


def _default_device() -> Any:
    """The device of arrays that are made without naming one."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if device is None or isinstance(device, str):
        return jax.local_devices(backend=device)[0]
    return device


def _x64() -> bool:
    """The setting of 64-bit types in this thread."""
    return jax.config.jax_enable_x64  # type: ignore[attr-defined]


def settings_allow() -> bool:
    """False where JAX's settings, or a profiler, ask for what only its own programs do."""
    config: Any = jax.config
    debugged = config.jax_debug_nans or config.jax_debug_infs or config.jax_disable_jit
    return not (debugged or is_recording())


def _interpretation(
    planned: tuple[Plan, Any, _Target, frozenset[int]], always: bool
) -> Interpretation | None:
    """The interpretation of a planned function; None if it should be compiled."""
    interpretation = Interpretation(*planned, always)
    if not always and interpretation.estimate > interpretation.compilation:
        return None
    return interpretation


def _arrays_of(args: Sequence[Any], static: frozenset[int]) -> tuple[Any, ...]:
    """The arguments that are not static."""
    return tuple([x for i, x in enumerate(args) if i not in static]) if static else tuple(args)


def _is_plain(aval: Any) -> bool:
    """True for arrays that NumPy can make: no PRNG keys, no weak types."""
    return not (aval.weak_type or jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended))


def _kind(x: Any) -> Hashable:
    """The facts about an argument on which the trace depends."""
    if isinstance(x, jax.Array):
        return (x.aval,) if isinstance(x, Tracer) else (x.aval, x.sharding)
    if isinstance(x, np.ndarray | np.generic):
        return x.shape, x.dtype
    return type(x)


def _is_key(aval: Any) -> bool:
    return jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key)


def _key_data(key: Any) -> np.ndarray:
    """Typed keys as the interpreter takes them: their data."""
    return np.asarray(jax.random.key_data(key))
