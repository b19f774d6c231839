"""First calls of compiled functions, computed by NumPy instead of XLA.

XLA compiles the smallest program in 30 ms, a network in seconds; many programs are called once, or
a few times. One rule holds for inference and training: the first calls of a function with arguments
of certain shapes are interpreted (:mod:`executorkit.jaxpr_interpreter`), by their number and never
by the clock:

- As many calls as are estimated to take 2.5 times as long as compiling: a program that ends just
  before it takes over has lost about as much as compiling costs. At most 47, so that scripts of a
  few dozens of calls end before XLA is asked. Two thirds of them later, at the 32nd call at most,
  the program is compiled in the background. Where a program and its plan are on disk, loading
  counts instead of compiling.
- None on anything but one CPU device, where the interpreter lacks a primitive, where an
  interpreted call would take longer than compiling or loading, and while the profiler records.

Options and the environment may say that all calls are interpreted, or none.

A function that JAX is about to trace for a call of its own raises
:class:`~executorkit.errors.NotCompiledError`: the call is decided here then, so that a call of a
compiled function costs nothing more. (To look the arguments up before each call instead takes 5 us
for two of them, 16 us for forty.)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from .._support.annotations import Arrays, Operands, Raw, Tree
from .._support.garbage_collection import paused_collection
from .._support.malloc import without_huge_pages
from ..context import Device
from ..errors import NotCompiledError
from ..jax_internals import in_x64
from ..jaxpr_interpreter import FlatJaxpr, GeneralPlan, Plan, flattened, flattened_program, plan
from ..jaxprs import FlatProgram, ForAnySizes, Size, SymbolicSizes, size_kinds
from ._background_tasks import CompileTask, submit
from ._host_contents import HostContents, HostResult, array_of, shaped, sharding_of, with_arrays
from ._program_options import interpreter_enabled
from ._retained_memory import count_new_sizes
from .disk_cache import CachedJit, trace_context

#: Estimated seconds of interpreted calls, by seconds of compiling. Measured beside other busy
#: processes, seconds until the 1st, 10th and 30th result, compiled at the second call or at once,
#: and from the 32nd call on: ResNet-50 1.2, 4.0, 5.9 and 0.9, 2.0, 4.4; ResNet-152 3.0, 8.3, 13.3
#: and 2.8, 5.4, 11.6; training of a ResNet-18 0.9, 9.4, 14.2 and 1.0, 3.3, 8.5. A call of these
#: takes 1.05 to 1.25 times as long as a call of the compiled program, of a ResNet-50's training,
#: which is compiled from the 5th on, 1.2 to 1.4.
_INTERPRETED = 2.5
#: The last call with the same shapes that first runs the program, or waits for it.
_TAKE_OVER_AT = 48
#: Estimated seconds of a call beside which nothing is compiled: both would take longer than one
#: after the other, and need their memory at the same time.
_LONG_SECONDS = 0.1
#: Estimated seconds of compiling a program, by the square root of the number of its equations, and
#: by their number: the more there are, the more of them are fused. Measured beside other busy
#: processes: 0.6 with 186 equations (SqueezeNet) and 748 (training of a deep MLP), 1.2 with 215 (of
#: an LSTM), 1.6 with 270 (of a LeNet), 2 with 683 (ResNet-50), 2.6 with 1011 (Inception v3), 2.7
#: with 2175 (ResNet-152), 5.4 with 2185 (training of a ResNet-18), 8 with 3538 (of a ResNet-50), 15
#: with 7494 (of an Inception v3).
_COMPILE_SECONDS, _COMPILE_SECONDS_EACH = 0.05, 0.001
#: Estimated seconds of loading a program and of preparations of its first run, and those by second
#: of compiling it. Measured: 0.04 (training of an MLP), 0.08 (of a deep one), 0.12 (ResNet-50).
_LOAD_SECONDS, _LOADING = 0.03, 0.05
#: Maximum estimated seconds of a call that is interpreted for good, such as an operator on small
#: arrays: NumPy takes less time than the call of a compiled program (estimated 10 us, a product of
#: 64 x 64: 16 us beside 23).
_STAYING_SECONDS = 1.2e-5
#: Maximum number of sets of shapes of a function that are listed at a time; one more and the
#: function should be cleared, so that JAX forgets their traces too.
MAX_LISTED_SHAPES = 256

#: The plans for any sizes, with the structure of the results.
GeneralPlans = ForAnySizes[tuple[GeneralPlan, Any]]
#: Shapes and dtypes of the arrays of a call.
HostKey = tuple[tuple[tuple[int, ...], Any], ...]
ShapesOf = Callable[[tuple[tuple[int, ...], ...]], tuple[tuple[int, ...], ...] | None]


class _Tracing(threading.local):
    #: Number of contexts in this thread in which functions may be traced.
    contexts = 0


_tracing = _Tracing()


@contextmanager
def tracing_allowed() -> Iterator[None]:
    """Allows functions to be traced in this context: for compilation, or to be looked at."""
    _tracing.contexts += 1
    try:
        yield
    finally:
        _tracing.contexts -= 1


class Entry:
    """Calls of a function with arguments of certain shapes."""

    __slots__ = (
        "_compile_at", "_count", "_is_long", "_take_over_at", "_task", "function", "interpret",
        "is_general",
    )  # fmt: skip

    def __init__(
        self, interpret: bool | None, function: InterpretedFunction | None, is_general: bool
    ) -> None:
        pays = function is not None and (interpret or function.estimate <= function.compilation)
        calls = 0 if function is None else function.calls_worth_compiling
        #: The setting that it was made under: True for all calls, None for the first ones.
        self.interpret = interpret
        #: True if its plan is one of those for any sizes, for which nothing was traced.
        self.is_general = is_general
        #: The plan of its calls; None once they run the program.
        self.function = function if pays else None
        self._take_over_at = math.inf if interpret else min(calls + 1, _TAKE_OVER_AT)
        self._compile_at = math.inf if interpret else max(2, self._take_over_at * 2 // 3)
        self._is_long = function is not None and function.estimate > _LONG_SECONDS
        self._count = 0
        self._task: CompileTask | None = None

    @property
    def is_dispensable(self) -> bool:
        """True if nothing is lost but the count of its calls where it is forgotten."""
        return self.is_general and self.function is not None and self._task is None

    def next_call(self, submit: Callable[[], CompileTask]) -> bool:
        """Counts a call and tells whether it is interpreted. Has the program compiled in the
        background when it is time, and waits for it when it is to run."""
        self._count += 1
        if self._task is None and self._count >= self._compile_at:
            self._task = submit()
        if self._count < (self._compile_at if self._is_long else self._take_over_at):
            return True
        if self._task is not None:
            self._task.finish()
        return False


class HostPlans(dict[HostKey, Plan | None]):
    """Plans of small calls by shapes and dtypes: the call of a compiled program takes longer. None
    for a call that is known to be a larger one, whose calls are counted from the second on. New
    shapes get the plan of known ones, without a trace, unless ``interpret`` returns False;
    ``output_shapes`` maps an element-wise call's input shapes to its output shapes."""

    def __init__(
        self, interpret: Callable[[], bool | None], output_shapes: ShapesOf | None = None
    ) -> None:
        self._interpret = interpret
        self._output_shapes = output_shapes
        #: Plans for any shape, by the number of axes and the dtype of each array.
        self._general: dict[Hashable, Plan] = {}
        #: The plans for any sizes, by the same and the sizes that are 0 or 1.
        self._of_any_sizes: dict[Hashable, GeneralPlans] = {}
        #: Keys of plans for which nothing was traced.
        self._untraced: dict[HostKey, None] = {}

    def drop_general(self, count: int) -> None:
        for key in list(self._untraced)[:count]:
            del self._untraced[key]
            self.pop(key, None)

    def add(self, key: HostKey, steps: Plan, plans: GeneralPlans | None) -> None:
        """Lists a plan if it is small, and the plans for any sizes that it belongs to."""
        stays = steps.estimate <= _STAYING_SECONDS
        if stays or plans is not None:
            self[key] = steps if stays else None
        if plans is not None:
            self._untraced[key] = None
            self._of_any_sizes[_ranks(key), size_kinds(_sizes_of(key))] = plans
        if stays and steps.any_shape:
            self._general[_ranks(key)] = steps

    def __missing__(self, key: HostKey) -> Plan | None:
        """Returns the plan of a first call of its shapes without a trace; None if there is none."""
        shapes = tuple([shape for shape, _ in key])
        if self._output_shapes is None or any(0 in shape for shape in shapes):
            sizes = _sizes_of(key)
            plans = self._of_any_sizes.get((_ranks(key), size_kinds(sizes)))
            known = None if plans is None else plans.known(sizes)
            plan = None if known is None else known[0][0].at(known[1])
        else:
            general, shapes = self._general.get(_ranks(key)), self._output_shapes(shapes)
            plan = None if general is None or shapes is None else general.for_shapes(shapes)
        return None if plan is None or self._interpret() is False else self._kept(key, plan)

    def _kept(self, key: HostKey, steps: Plan) -> Plan | None:
        """Returns a plan of these for its first call, and lists it for others if it is small; None
        where this call is to be counted already."""
        stays = not steps.uncovered and steps.estimate <= _STAYING_SECONDS
        is_listed = len(self) < MAX_LISTED_SHAPES
        if is_listed:
            self[key] = steps if stays else None
            self._untraced[key] = None
        if stays:
            return steps
        if not is_listed or steps.uncovered or steps.any_shape:
            return None
        count_new_sizes()
        return steps if steps.estimate <= _compile_seconds(steps) else None


def _sizes_of(key: HostKey) -> tuple[int, ...]:
    return tuple([size for shape, _ in key for size in shape])


def _ranks(key: HostKey) -> Hashable:
    return tuple([(len(shape), dtype) for shape, dtype in key])


class FirstCalls:
    """The calls of a jitted function by the signature of their arguments. ``dispatcher`` has the
    executables on disk. ``interpret`` returns whether calls are interpreted: all, none, or (None)
    the first ones. ``count`` gets each executable that was compiled in the background;
    ``note_jaxpr`` is called where a jaxpr came without a trace; ``program`` is the function as a
    flat program."""

    __slots__ = (
        "_count", "_device", "_dispatcher", "_general", "_interpret", "_jitted", "_lock",
        "_note_jaxpr", "_program", "_static", "counted", "entries", "host_plans",
        "unlisted",
    )  # fmt: skip

    def __init__(
        self,
        jitted: Any,
        dispatcher: CachedJit,
        interpret: Callable[[], bool | None],
        count: Callable[[jax.stages.Compiled], object],
        note_jaxpr: Callable[[], object],
        static: Sequence[int] = (),
        device: Device | None = None,
        unlisted: bool = True,
        program: Callable[[], FlatProgram] | None = None,
        general: dict[Hashable, GeneralPlans] | None = None,
        output_shapes: ShapesOf | None = None,
    ) -> None:
        self._jitted = jitted
        self._general = general
        self._program = program
        self._dispatcher = dispatcher
        self._interpret = interpret
        self._count = count
        self._note_jaxpr = note_jaxpr
        self._static = frozenset(static)
        self._device = device
        self.entries: dict[Hashable, Entry] = {}
        self._lock = threading.RLock()
        #: Signatures of calls that are interpreted.
        self.counted: set[Hashable] = set()
        #: Plans of calls that stay with NumPy.
        self.host_plans = HostPlans(interpret, output_shapes)
        #: True if JAX may have programs for arguments that are not listed here.
        self.unlisted = unlisted

    def make_room(self) -> bool:
        """Forgets shapes for which nothing was traced, the oldest first, where too many are listed.
        False if the function should be cleared before it is called with further shapes."""
        if len(self.host_plans) >= MAX_LISTED_SHAPES:
            self.host_plans.drop_general(MAX_LISTED_SHAPES // 2)
        if len(self.entries) >= MAX_LISTED_SHAPES:
            with self._lock:
                dispensable = [s for s, entry in self.entries.items() if entry.is_dispensable]
                for signature in dispensable[: MAX_LISTED_SHAPES // 2]:
                    self.counted.discard(signature)
                    del self.entries[signature]
        return max(len(self.entries), len(self.host_plans)) < MAX_LISTED_SHAPES

    def check_trace(self) -> None:
        """Raises NotCompiledError where JAX traces the function for a call of its own that may be
        interpreted, or whose program may be on disk."""
        if _tracing.contexts:
            return
        if self._interpret() is not False or self._dispatcher.caches:
            raise NotCompiledError
        self.unlisted = True

    def known(self, args: Arrays, signature: Hashable) -> InterpretedFunction | None:
        """Counts a call and returns its plan; None if JAX is to be called. The call that takes over
        waits for the compiled program."""
        entry = self.entries.get(signature)
        if entry is None or entry.function is None:
            return None
        if not interpreter_enabled() or not entry.next_call(partial(self._submit, args)):
            self._end(signature)
        return entry.function

    def are_new(self, signature: Hashable) -> bool:
        """Tells whether these shapes are known to be uncompiled, in a fifth of JAX's time."""
        if self.unlisted or not self.counted or self._interpret() is False:
            return False
        return signature not in self.entries

    def first(
        self, args: Arrays, split: tuple[Arrays, Hashable], host_key: HostKey | None = None
    ) -> InterpretedFunction | None:
        """Returns the plan of calls with new shapes; None where the program is to run. Traces the
        function, unless its program is on disk. With a ``host_key`` a plan quicker than the call of
        a compiled program becomes one of the ``host_plans``, and is not counted."""
        interpret = self._interpret()
        if interpret is False:
            self.unlisted = True
            return None
        signature = split[1]
        with self._lock:  # several threads trace once
            entry = self.entries.get(signature)
            if entry is not None and entry.interpret is interpret:
                return self.known(args, signature)
            planned, plans = self._planned(args, split, interpret)
            entry = Entry(interpret, planned, plans is not None)
            function = entry.function
            if function is not None and host_key is not None:
                self.host_plans.add(host_key, function.plan, plans)
                if self.host_plans.get(host_key) is not None:
                    return function
            self.entries[signature] = entry
            if function is not None:
                entry.next_call(partial(self._submit, args))
                self.counted.add(signature)
            return function

    def forget(self, args: Arrays) -> None:
        """Ends the interpretation of calls with such arguments, compiled ahead."""
        self.unlisted = True
        _, signature = self.split(args)
        if signature in self.counted:
            self._end(signature)

    def note_sizes(self, args: Arrays) -> None:
        leaves, signature = self.split(args)
        sizes = tuple([size for x in leaves for size in np.shape(x)])
        plans = self._plans_for(leaves, signature, sizes)
        if plans is not None:
            plans.note(sizes)

    def _end(self, signature: Hashable) -> None:
        self.entries[signature].function = None
        self.counted.discard(signature)

    def _planned(
        self, args: Arrays, split: tuple[Arrays, Hashable], interpret: bool | None
    ) -> tuple[InterpretedFunction | None, GeneralPlans | None]:
        """Returns the plan of calls with such arguments, and those for any sizes if it is one of
        them. None where they cannot be interpreted, or their program is on disk and their plan is
        not, which takes a trace."""
        leaves, signature = split
        target = _target(leaves, self._device)
        if target is None or not interpreter_enabled():
            return None, None
        sizes = tuple([size for x in leaves for size in np.shape(x)])
        plans = self._plans_for(leaves, signature, sizes)
        if self._dispatcher.is_prefetched(tuple(args)) and not interpret:
            return None, None
        # The look takes longer than a plan: sizes that come once fill no disk.
        looks = not interpret and (plans is None or plans.known(sizes) is None)
        is_on_disk = looks and self._dispatcher.has_stored(tuple(args))
        if plans is not None and not is_on_disk:
            general = self._general_plan(plans, args, leaves, sizes)
            if general is not None:
                function = InterpretedFunction(*general, target, self._static, is_on_disk)
                return (None if function.plan.uncovered else function), plans
        with paused_collection():
            flat = self._dispatcher.stored_jaxpr(tuple(args))
            is_stored = flat is not None
            if is_stored:
                self._note_jaxpr()
            elif not is_on_disk or not self._dispatcher.prefetch(tuple(args)):
                flat = self._flat_jaxpr(args)
            if flat is None:
                return None, None
            function = InterpretedFunction(plan(flat[0]), flat[1], target, self._static, is_on_disk)
        if function.plan.uncovered:
            return None, None
        if interpret or function.estimate <= function.compilation:
            if plans is not None:
                plans.note(sizes)
            if not is_stored:
                self._dispatcher.store_jaxpr(tuple(args), flat)
        return function, None

    def _flat_jaxpr(self, args: Arrays) -> tuple[FlatJaxpr, Any] | None:
        """Returns the flat jaxpr and the structure of its results, if NumPy can make them."""
        if self._program is not None:
            program = self._program()
            self._note_jaxpr()
            plain = all(isinstance(x.dtype, np.dtype) for x in program.outputs)
            structure = jax.tree.structure(program.outputs)
            return (flattened_program(program), structure) if plain else None
        with tracing_allowed():
            traced = self._jitted.trace(*with_arrays(args))
        plain = all(map(_is_plain, traced.jaxpr.out_avals))
        return (flattened(traced.jaxpr), traced.out_tree) if plain else None

    def _plans_for(
        self, leaves: Arrays, signature: Any, sizes: tuple[int, ...]
    ) -> GeneralPlans | None:
        """Returns the plans of calls whose arguments differ from these by sizes alone."""
        if self._program is not None or self._general is None:
            return None
        structure, _, fixed, context = signature
        key = structure, tuple(map(_rank, leaves)), size_kinds(sizes), fixed, context
        plans = self._general.get(key)
        if plans is None:
            plans = self._general[key] = ForAnySizes()
        return plans

    def _general_plan(
        self, plans: GeneralPlans, args: Arrays, leaves: Arrays,
        sizes: tuple[int, ...],
    ) -> tuple[Plan, Any] | None:  # fmt: skip
        """Returns the plan and the structure of the results from a trace with symbols for the sizes
        that differ from the first call's; None without one."""
        static = self._static

        def make(symbolic: SymbolicSizes) -> tuple[GeneralPlan, Any]:
            structure = jax.tree.structure(_arrays_of(args, static))
            arrays = iter(jax.tree.unflatten(structure, _symbolic_arrays(leaves, symbolic.sizes)))
            symbols = tuple([x if i in static else next(arrays) for i, x in enumerate(args)])
            flat = self._dispatcher.stored_jaxpr(symbols, symbolic.scope, tuple(args))
            if flat is not None:
                self._note_jaxpr()
            else:
                flat = self._flat_jaxpr(symbols)
                if flat is None:
                    raise NotImplementedError("results that NumPy cannot make")
                self._dispatcher.store_jaxpr(symbols, flat, symbolic.scope, tuple(args))
            return GeneralPlan(flat[0], symbolic), flat[1]

        with paused_collection():
            known = plans.find(sizes, make)
        count_new_sizes()
        return None if known is None else (known[0][0].at(known[1]), known[0][1])

    def _submit(self, args: Arrays) -> CompileTask:
        arguments = tuple(args)

        if self._dispatcher.has_stored(arguments):
            return submit(partial(in_x64(self._dispatcher.prefetch), arguments))
        # Lowered here: it is Python's work, and calls beside a thread would wait for Python's lock,
        # five milliseconds at a time.
        with jax.enable_x64(True), tracing_allowed(), paused_collection():
            lowered = self._jitted.lower(*with_arrays(args))

        def compile() -> None:
            with jax.enable_x64(True), tracing_allowed():
                executable = self._dispatcher.executable(arguments, lowered)
            self._count(executable)

        return submit(compile)

    def split(self, args: Arrays) -> tuple[list[Any], Hashable]:
        """Returns the arrays among the arguments, and what calls with the same plan share."""
        static = self._static
        fixed = tuple([args[i] for i in sorted(static) if i < len(args)])
        leaves, structure = jax.tree.flatten(_arrays_of(args, static))
        kinds = tuple([_kind(x) for x in leaves])
        return leaves, (structure, kinds, fixed, trace_context())


class InterpretedFunction:
    """A call's plan for certain shapes, with estimated seconds of a call, and of ``compilation`` or
    of loading the program."""

    __slots__ = (
        "_bound", "_dtypes", "_kinds", "_out_tree", "_static", "compilation", "plan",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, out_tree: Any, target: Any, static: frozenset[int], is_on_disk: bool
    ) -> None:
        self.plan = plan
        self._static = static
        #: None for keys, whose data the plan takes.
        self._dtypes = [x.dtype for x in plan.inputs]
        sharding, self._bound = target
        self._kinds = [(shaped(*x.aval), sharding) for x in plan.results]
        self._out_tree = out_tree
        self.compilation = _compile_seconds(plan)
        if is_on_disk:
            self.compilation = _LOAD_SECONDS + _LOADING * self.compilation

    @property
    def estimate(self) -> float:
        return self.plan.estimate

    @property
    def calls_worth_compiling(self) -> int:
        """The number of calls whose time is well spent on compiling."""
        return int(min(_INTERPRETED * self.compilation / max(self.estimate, 1e-9), 1e9))

    def run(self, args: Arrays, on_host: bool = False) -> Tree:
        leaves = jax.tree.leaves(_arrays_of(args, self._static))
        host = [
            x.read()
            if isinstance(x, HostContents)
            else np.asarray(jax.random.key_data(x) if dtype is None else x, dtype)
            for x, dtype in zip(leaves, self._dtypes, strict=True)
        ]
        with without_huge_pages():
            results = self.plan.run(host)
        # JAX copies arrays that are not aligned: of an emptied list one at a time is there twice.
        make = HostResult if on_host and self._bound else partial(array_of, bound=self._bound)
        contents = [make(results.pop(), kind) for kind in reversed(self._kinds)]
        return jax.tree.unflatten(self._out_tree, contents[::-1])


def _compile_seconds(plan: Plan) -> float:
    n = max(plan.all_equations, 1)
    return _COMPILE_SECONDS * math.sqrt(n) + _COMPILE_SECONDS_EACH * n


def _target(leaves: Arrays, device: Device) -> tuple[Any, bool] | None:
    """Returns the sharding of results, and whether they are bound to it; None unless on one CPU."""
    devices = set() if device is None else {device}
    bound = device is not None
    for x in leaves:
        if isinstance(x, Tracer):
            return None
        if isinstance(x, jax.Array | HostContents):
            devices |= x.sharding.device_set
            bound = bound or x.committed
    if len(devices) > 1 or any(d.platform != "cpu" for d in devices):
        return None
    if bound:
        return sharding_of(next(iter(devices))), True
    default = _default_device()
    return (sharding_of(default), False) if default.platform == "cpu" else None


def _default_device() -> Any:
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if device is None or isinstance(device, str):
        return jax.local_devices(backend=device)[0]
    return device


def _arrays_of(args: Arrays, static: frozenset[int]) -> Operands:
    return tuple([x for i, x in enumerate(args) if i not in static]) if static else tuple(args)


def _is_plain(aval: Any) -> bool:
    return not (aval.weak_type or jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended))


def _rank(x: Raw) -> Hashable:
    if isinstance(x, jax.Array | HostContents):
        return len(x.shape), x.dtype, getattr(x, "weak_type", False), x.sharding
    return (x.ndim, x.dtype) if isinstance(x, np.ndarray | np.generic) else type(x)


def _symbolic_arrays(leaves: Arrays, sizes: Iterable[Size]) -> list[Any]:
    rest = iter(sizes)
    return [
        jax.ShapeDtypeStruct(
            tuple([next(rest) for _ in x.shape]), x.dtype, weak_type=getattr(x, "weak_type", False)
        )
        if hasattr(x, "shape")
        else x
        for x in leaves
    ]


def _kind(x: Raw) -> Hashable:
    if isinstance(x, HostContents):
        return x.kind
    if isinstance(x, jax.Array):
        return (x.aval,) if isinstance(x, Tracer) else (x.aval, x.sharding)
    if isinstance(x, np.ndarray | np.generic):
        return x.shape, x.dtype
    return type(x)
