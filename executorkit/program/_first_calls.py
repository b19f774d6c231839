"""First calls of compiled functions, computed by NumPy instead of XLA.

XLA compiles the smallest program in 30 ms, a network in seconds; many programs are called once, or
a few times. So the first calls with arguments of certain shapes are traced, and their jaxpr is
interpreted (:mod:`executorkit.jaxpr_interpreter`). How many depends on a policy, never on the
clock, so that a run repeats bit for bit:

- :class:`ByCount`: calls are counted for each function and each set of shapes. Where compiling is
  estimated to take less time than 12 interpreted calls, the first call alone is interpreted: it
  gives a result before XLA does, and a program that is on disk is loaded beside it. Others are
  compiled in the background from the 32nd call on, and run from the 48th, so that scripts of a few
  dozens of calls end before.
- :class:`ByAge`, for programs of training: a training that is repeated in the same process, or
  resumed from its files in another one, has to be equal to the last bit. So it must not matter what
  a process has called, traced or compiled before. What decides is the *age* of the training and the
  program. The age is the number of updates that the optimizer has counted, which is restored with
  its states; an executor whose optimizer is not known counts its own steps, and those of the
  executors that it was reshaped from. Below an age that follows from its size a program is
  interpreted, even where it has been compiled meanwhile, and compiled from there on.
- :class:`Always` and :class:`Never`, where a program's option or the environment says so. Never,
  too: on anything but one CPU device, for groups of devices, and for training without an age
  (executors and modules that compile ahead).

The disk cache decides nothing: a program is compiled, or loaded instead, at the same calls. One
whose calls a policy refuses is stored with that answer, and for the others the jaxpr that is
interpreted, so that nothing need be traced again.

Programs are compiled at once where the interpreter lacks a primitive, where its estimate of the
work is above what compilation takes, and while the profiler records.

A function that JAX is about to trace for a call of its own raises
:class:`~executorkit.errors.NotCompiledError`: the call is decided here then, so that a call of a
compiled function costs nothing more. (To look the arguments up before each call instead takes 5 us
for two of them, 16 us for forty.)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import ShapedArray, Tracer

from .._support.garbage_collection import paused_collection
from ..errors import NotCompiledError
from ..jax_internals import batched_device_put
from ..jaxpr_interpreter import FlatJaxpr, Plan, flattened, flattened_program, plan
from ..jaxprs import FlatProgram
from ..profiler import is_recording
from ._background_tasks import CompileTask, submit
from .disk_cache import CachedJit, trace_context

#: Number of interpreted calls that take longer than compiling a program that is worth it at once.
#: Measured, seconds until the 10th and the 30th result, compiled at the second call and from the
#: 32nd on: ResNet-50 (9 calls) 3.3, 4.5 and 2.1, 4.2, from the disk cache 1.7, 2.9 and 1.9, 4.1;
#: MobileNet v2 (26 calls) 1.6, 1.7 and 0.6, 1.2, from the disk cache 0.5, 0.7 and 0.6, 1.2.
_SOON = 12
#: The call with the same shapes that has the program compiled in the background, and the one that
#: first runs it, or waits for it: of such programs, which are only loaded in the background (see
#: :meth:`Policy.schedule`), and of others.
_COMPILE_SOON_AT, _TAKE_OVER_SOON_AT = 1, 2
_COMPILE_AT, _TAKE_OVER_AT = 32, 48
#: Age from which on everything is compiled.
MAX_AGE = 64
#: Number of trainings of the same shapes whose first steps are interpreted. A script that binds
#: anew for each batch would have every step interpreted otherwise. Later ones are equal to the
#: earlier ones but for rounding.
MAX_TRAININGS = 32
#: Maximum estimated seconds of a step of training that is interpreted. Above, it takes so much
#: longer than the compiled program that the steps until this takes over would be slower than
#: compiling.
_MAX_STEP_SECONDS = 0.05
#: Estimated seconds of compiling a program on one core, beside calls on another, by the square root
#: of the number of its equations: the more there are, the more of them are fused. Measured: 0.2
#: with 23 or 37 equations, 1.2 with 142 (training of a LeNet), 1.0 with 154 (of an LSTM), 0.55 with
#: 186 (SqueezeNet), 0.85 with 254 (MobileNet v2), 1.8 with 683 (ResNet-50).
_COMPILE_SECONDS = 0.05
#: Maximum estimated seconds of a call that is interpreted for good: that of an operator on small
#: arrays, for which NumPy takes less time than the call of a compiled program.
_STAYING_SECONDS = 1e-5
#: Maximum number of sets of shapes of a function that are listed at a time; one more and the
#: function should begin anew, so that JAX forgets their traces too.
MAX_LISTED_SHAPES = 256

#: Shapes and dtypes of the arrays of a call.
HostKey = tuple[tuple[tuple[int, ...], Any], ...]


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


class CallState(Enum):
    """The means to compute calls with arguments of certain shapes."""

    INTERPRETED = "a plan that NumPy computes by"
    COMPILING = "a plan, while the program is compiled in the background"
    COMPILED = "the program, or nothing yet: JAX compiles it when it is called"


class Policy(Protocol):
    """A choice of the calls that are interpreted."""

    def accepts(self, function: InterpretedFunction) -> bool:
        """True if calls of a function should be interpreted at all."""
        ...

    def schedule(self, function: InterpretedFunction) -> tuple[float, float]:
        """The times from which on the program is compiled in the background, and runs.

        One that runs at the next time is loaded in the background, but not compiled: lowering it
        would delay this result, and the next one would wait for as long.
        """
        ...

    def time(self, entry: Entry, age: int | None) -> float:
        """The time of a call, which it counts."""
        ...


class ByCount:
    """The number of calls with the same shapes decides."""

    def accepts(self, function: InterpretedFunction) -> bool:
        return function.estimate <= function.compilation

    def schedule(self, function: InterpretedFunction) -> tuple[float, float]:
        if function.is_better_compiled:
            return _COMPILE_SOON_AT, _TAKE_OVER_SOON_AT
        return _COMPILE_AT, _TAKE_OVER_AT

    def time(self, entry: Entry, age: int | None) -> float:
        entry.count += 1
        return entry.count


class ByAge:
    """The age of the training decides.

    ``max_trainings`` is the number of trainings of the same shapes whose first steps are
    interpreted, infinite for a function that one training calls many times at one age.
    """

    def __init__(self, max_trainings: float) -> None:
        self._max_trainings = max_trainings

    def accepts(self, function: InterpretedFunction) -> bool:
        return function.estimate <= min(_MAX_STEP_SECONDS, function.compilation)

    def schedule(self, function: InterpretedFunction) -> tuple[float, float]:
        if function.is_better_compiled:
            return _COMPILE_SOON_AT - 1, _TAKE_OVER_SOON_AT - 1
        return _COMPILE_AT, MAX_AGE

    def time(self, entry: Entry, age: int | None) -> float:
        entry.count += age == 0
        return math.inf if age is None or entry.count > self._max_trainings else age


class Always:
    """All calls are interpreted that can be."""

    def accepts(self, function: InterpretedFunction) -> bool:
        return True

    def schedule(self, function: InterpretedFunction) -> tuple[float, float]:
        return math.inf, math.inf

    def time(self, entry: Entry, age: int | None) -> float:
        return 0


class Never(Always):
    """No call is interpreted."""

    def accepts(self, function: InterpretedFunction) -> bool:
        return False


BY_COUNT, ALWAYS, NEVER = ByCount(), Always(), Never()


class Entry:
    """Calls of a function with arguments of certain shapes.

    function
        their plan, None where they are compiled at once or have been for good.
    count
        number of calls, or of trainings that have begun.
    refused
        whether the policy interprets no such call, whatever has happened before.
    """

    __slots__ = (
        "_compile_at", "_take_over_at", "_task", "count", "function", "policy", "refused", "state",
    )  # fmt: skip

    def __init__(self, policy: Policy, function: InterpretedFunction | None) -> None:
        accepted = function is not None and policy.accepts(function)
        self.policy = policy
        self.function = function if accepted else None
        self.state = CallState.INTERPRETED if accepted else CallState.COMPILED
        self.refused = not accepted and policy is not NEVER and settings_allow()
        self.count = 0
        self._compile_at, self._take_over_at = policy.schedule(function) if function else (0, 0)
        self._task: CompileTask | None = None

    def next_call(self, age: int | None, submit: Callable[[bool], CompileTask | None]) -> bool:
        """Counts a call; True if it is interpreted.

        Has the program compiled in the background when it is time, and waits for it when it is to
        run. ``submit`` is told whether it may be loaded only.
        """
        time = self.policy.time(self, age)
        if time >= self._take_over_at:
            if self._task is not None:
                self._task.finish()
            self.state = CallState.COMPILED
            return False
        if time >= self._compile_at and self.state is CallState.INTERPRETED:
            self._task = submit(time + 1 >= self._take_over_at)
            if self._task is not None:
                self.state = CallState.COMPILING
        return True


class HostPlans(dict[HostKey, Plan]):
    """Plans of small calls by the shapes and dtypes of their arrays: NumPy takes less for these
    than the call of a compiled program."""

    def __init__(self) -> None:
        #: Plans for any shape, by the number of axes and the dtype of each array.
        self._general: dict[Hashable, Plan] = {}

    def add(self, key: HostKey, steps: Plan) -> None:
        """Keeps the plan of a small call."""
        self[key] = steps
        if steps.any_shape:
            self._general[_ranks(key)] = steps

    def for_new_shapes(self, key: HostKey, shapes: Sequence[tuple[int, ...]]) -> Plan | None:
        """The plan of a small call of new shapes, whose results have ``shapes``, without a trace:
        that of an earlier call whose arrays had as many axes and the same dtypes, if its steps are
        those for any shape. None if there is none, or the call is not small."""
        general = self._general.get(_ranks(key))
        steps = None if general is None else general.for_shapes(shapes)
        if steps is None or steps.estimate > _STAYING_SECONDS:
            return None
        if len(self) < MAX_LISTED_SHAPES:
            self[key] = steps
        return steps


def _ranks(key: HostKey) -> Hashable:
    return tuple([(len(shape), dtype) for shape, dtype in key])


class FirstCalls:
    """The calls of a jitted function by the signature of their arguments.

    policy
        the policy of a call at an age, as the settings are at present.
    dispatcher
        has the executables of what is stored on disk.
    count
        is given each executable that was compiled, or loaded, in the background.
    note_jaxpr
        is called where a jaxpr was there without a trace.
    program
        the function as a flat program of the leaves of its arguments, if there is one.
    counted
        signatures of calls that are interpreted by their number, or always.
    compiling
        signatures of calls by age whose programs are compiled in the background, and that nobody
        has waited for.
    host_plans
        plans of calls that stay with NumPy.
    unlisted
        whether JAX may have programs for arguments that are not listed here.
    """

    __slots__ = (
        "_count", "_device", "_dispatcher", "_entries", "_jitted", "_note_jaxpr", "_policy",
        "_program", "_static", "compiling", "counted", "host_plans", "unlisted",
    )  # fmt: skip

    def __init__(
        self,
        jitted: Any,
        dispatcher: CachedJit,
        policy: Callable[[int | None], Policy],
        count: Callable[[jax.stages.Compiled], object],
        note_jaxpr: Callable[[], object],
        static: Sequence[int] = (),
        device: Any = None,
        unlisted: bool = True,
        program: Callable[[], FlatProgram] | None = None,
    ) -> None:
        self._jitted = jitted
        self._program = program
        self._dispatcher = dispatcher
        self._policy = policy
        self._count = count
        self._note_jaxpr = note_jaxpr
        self._static = frozenset(static)
        self._device = device
        self._entries: dict[Hashable, Entry] = {}
        self.counted: set[Hashable] = set()
        self.compiling: set[Hashable] = set()
        self.host_plans = HostPlans()
        self.unlisted = unlisted

    @property
    def full(self) -> bool:
        """True if the function should begin anew before it is called with further shapes."""
        return max(len(self._entries), len(self.host_plans)) >= MAX_LISTED_SHAPES

    def check_trace(self) -> None:
        """Raises NotCompiledError where JAX traces the function for a call of its own that a policy
        has to decide about, or whose program may be on disk."""
        if _tracing.contexts:
            return
        if self._policy(None) is not NEVER or self._dispatcher.caches:
            raise NotCompiledError
        self.unlisted = True

    def known(self, args: Sequence[Any], age: int | None) -> InterpretedFunction | None:
        """The plan by which the next call of such arguments is computed; None if JAX is to be
        called. Counts the call; the one that takes over waits for the compiled program."""
        leaves, signature = self._split(args)
        entry = self._entries.get(signature)
        if self.counted:
            if entry is None or signature not in self.counted:
                return None
            if is_recording() or not entry.next_call(age, partial(self._submit, args)):
                self._end(signature)
            return entry.function
        policy = self._policy(age)
        if not isinstance(policy, ByAge) or not settings_allow():
            return None
        if (entry is None or entry.policy is not policy) and age is not None and age < MAX_AGE:
            entry = self._entries[signature] = Entry(policy, self._planned(args, leaves, policy))
        if entry is None or entry.function is None:
            return None
        interprets = entry.next_call(age, partial(self._submit, args))
        if entry.state is CallState.COMPILING:
            self.compiling.add(signature)
        else:
            self.compiling.discard(signature)
        return entry.function if interprets else None

    def are_new(self, args: Sequence[Any]) -> bool:
        """True if JAX would find, in a fifth of the time that a first call takes, that it has no
        program for such arguments."""
        if self.unlisted or not self.counted or self._policy(None) is NEVER:
            return False
        return self._split(args)[1] not in self._entries

    def first(
        self, args: Sequence[Any], host_key: HostKey | None = None
    ) -> InterpretedFunction | None:
        """The plan of calls with arguments of new shapes; None where the program is to be compiled.
        Traces the function.

        With a ``host_key`` a plan that takes less than the call of a compiled program becomes one
        of the ``host_plans``, and is neither counted nor found again otherwise.
        """
        leaves, signature = self._split(args)
        policy = self._policy(None)
        if policy is NEVER:
            self.unlisted = True
            return None
        entry = self._entries.get(signature)
        if entry is not None and entry.policy is policy:
            return None
        function = self._planned(args, leaves, policy)
        entry = Entry(policy, function)
        stays = entry.function is not None and entry.function.estimate <= _STAYING_SECONDS
        if entry.function is not None and stays and host_key is not None:
            self.host_plans.add(host_key, entry.function.plan)
            return function
        self._entries[signature] = entry
        if entry.function is not None:
            entry.next_call(None, partial(self._submit, args))
            self.counted.add(signature)
        return entry.function

    def refuses(self, args: Sequence[Any]) -> bool:
        """True if it is known that calls with such arguments are never interpreted."""
        entry = self._entries.get(self._split(args)[1])
        return entry is not None and entry.refused

    def forget(self, args: Sequence[Any]) -> None:
        """Ends the interpretation of calls with such arguments, which somebody had compiled."""
        self.unlisted = True
        _, signature = self._split(args)
        if signature in self.counted:
            self._end(signature)

    def _end(self, signature: Hashable) -> None:
        """Lets JAX call the compiled program from now on."""
        entry = self._entries[signature]
        entry.state, entry.function = CallState.COMPILED, None
        self.counted.discard(signature)

    def _planned(
        self, args: Sequence[Any], leaves: Sequence[Any], policy: Policy
    ) -> InterpretedFunction | None:
        """The plan of calls with such arguments; None where they cannot be interpreted, or the disk
        cache has the answer that the policy refuses it. Traces the function unless the cache has
        its jaxpr."""
        target = _target(leaves, self._device)
        if target is None or not settings_allow():
            return None
        if policy is not ALWAYS and self._dispatcher.found(tuple(args)):
            return None
        with paused_collection():
            stored = self._dispatcher.stored_jaxpr(tuple(args))
            if stored is not None:
                self._note_jaxpr()
                return InterpretedFunction(*stored, target, self._static)
            flat = self._flat_jaxpr(args)
            if flat is None:
                return None
            function = InterpretedFunction(*flat, target, self._static)
        if function.plan.uncovered:
            return None
        if policy.accepts(function):
            self._dispatcher.store_jaxpr(tuple(args), *flat)
        return function

    def _flat_jaxpr(self, args: Sequence[Any]) -> tuple[FlatJaxpr, Any] | None:
        """The flat jaxpr for such arguments and the structure of its results; None where NumPy
        cannot make these. Traces the function, unless its program is known."""
        if self._program is not None:
            program = self._program()
            self._note_jaxpr()
            plain = all(isinstance(x.dtype, np.dtype) for x in program.outputs)
            structure = jax.tree.structure(program.outputs)
            return (flattened_program(program), structure) if plain else None
        with tracing_allowed():
            traced = self._jitted.trace(*args)
        plain = all(map(_is_plain, traced.jaxpr.out_avals))
        return (flattened(traced.jaxpr), traced.out_tree) if plain else None

    def _submit(self, args: Sequence[Any], if_stored: bool) -> CompileTask | None:
        """Has the program compiled, or loaded, in the background; the next call finds it. None with
        ``if_stored`` where it is not on disk.

        What is not on disk is lowered here: this is Python's work, and calls beside it would have
        to wait for Python's lock, five milliseconds at a time.
        """
        arguments = tuple(args)
        with jax.enable_x64(True), tracing_allowed(), paused_collection():
            stored = self._dispatcher.is_stored(arguments)
            if if_stored and not stored:
                return None
            lowered = None if stored else self._jitted.lower(*args)

        def compile() -> None:
            with jax.enable_x64(True), tracing_allowed():
                executable = self._dispatcher.executable(arguments, lowered)
            self._count(executable)

        return submit(compile, beside_calls=True)

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], Hashable]:
        """The arrays and numbers among the arguments, and the signature of all."""
        static = self._static
        fixed = tuple([args[i] for i in sorted(static) if i < len(args)])
        leaves, structure = jax.tree.flatten(_arrays_of(args, static))
        kinds = tuple([_kind(x) for x in leaves])
        return leaves, (structure, kinds, fixed, trace_context())


class InterpretedFunction:
    """The plan of calls with arguments of certain shapes.

    plan
        evaluates the function on NumPy arrays, as its jaxpr says.
    estimate, compilation
        estimated seconds of a call, and of compiling the function's program.
    """

    __slots__ = ("_avals", "_dtypes", "_out_tree", "_static", "_target", "compilation", "plan")

    def __init__(
        self, jaxpr: FlatJaxpr, out_tree: Any, target: _Target, static: frozenset[int]
    ) -> None:
        self.plan = plan(jaxpr)
        self._static = static
        #: None for keys, whose data the plan takes.
        self._dtypes = [None if key else jaxpr.avals[i].dtype for i, key in jaxpr.arguments]
        results = [jaxpr.avals[i] for i, _ in jaxpr.results]
        self._avals = [ShapedArray(x.shape, x.dtype) for x in results]
        self._out_tree = out_tree
        self._target = target
        self.compilation = _COMPILE_SECONDS * math.sqrt(self.plan.all_equations)

    @property
    def estimate(self) -> float:
        return self.plan.estimate

    @property
    def is_better_compiled(self) -> bool:
        """True if compiling takes less time than a number of calls that is soon reached."""
        return self.compilation < _SOON * self.estimate

    def run(self, args: Sequence[Any]) -> Any:
        """The results of a call with such arguments."""
        leaves = jax.tree.leaves(_arrays_of(args, self._static))
        host = [
            np.asarray(jax.random.key_data(x) if dtype is None else x, dtype)
            for x, dtype in zip(leaves, self._dtypes, strict=True)
        ]
        results = self.plan.run(host)
        return jax.tree.unflatten(self._out_tree, self._target.arrays(self._avals, results))


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


def settings_allow() -> bool:
    """False where JAX's settings, or a profiler, ask for what only its own programs do."""
    config: Any = jax.config
    debugged = config.jax_debug_nans or config.jax_debug_infs or config.jax_disable_jit
    return not (debugged or is_recording())


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
