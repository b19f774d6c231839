"""Private names of JAX, each with the reason for which no public one serves (JAX 0.10); no other
file reads any."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from operator import attrgetter, floordiv, methodcaller, mod
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax._src import compiler, pjit, source_info_util, tree_util
from jax._src.ad_util import SymbolicZero, Zero, zeros_like_aval

# These have public homes, jax.extend.backend and core. Their import takes 16 ms, since it brings
# Pallas with it.
from jax._src.api import clear_backends as clear_backends

# ``jax.config`` reads a setting in three times the time, and small calls ask for these three.
from jax._src.config import (
    abstract_mesh_context_manager as mesh_context,
    debug_infs as debug_infs,
    debug_nans as debug_nans,
    disable_jit as disable_jit,
)
from jax._src.core import (
    ClosedJaxpr as ClosedJaxpr,
    Jaxpr as Jaxpr,
    Literal as Literal,
    Primitive as Primitive,
    ShapedArray,
    Trace,
    Tracer,
    jaxpr_as_fun as jaxpr_as_fun,
    set_current_trace,
    trace_ctx as trace_ctx,
    trace_state_strong_ref,
    typeof,
)
from jax._src.distributed import global_state as distributed_state
from jax._src.export import shape_poly
from jax._src.interpreters import ad, mlir, partial_eval, pxla
from jax._src.lib import _jax, xla_client  # pyright: ignore[reportPrivateImportUsage]

P = ParamSpec("P")
T = TypeVar("T")

#: Of the job that this process has joined: ``process_id``, ``num_processes``, the
#: ``coordinator_address``, and ``client``, a store of texts by key. ``jax.process_index()`` makes
#: the devices, for which all processes wait for each other.
distributed_state = distributed_state
#: ``(aval, sharding, [host array], [device], committed) -> array`` that takes over the memory of
#: the host array. ``jax.device_put`` does this with six times as much Python.
batched_device_put = xla_client.batched_device_put
#: ``(arrays) -> None`` that waits for a list of arrays, and raises the error of one of them.
#: ``jax.block_until_ready`` looks for the arrays in a tree first, 10 us for an MLP's arrays.
wait_for_arrays = xla_client.batched_block_until_ready


def dispatcher(name: str, miss: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of C++ that dispatches calls by the kinds of their arguments, as a jitted
    one does. For new kinds it returns the results of ``miss(*args) -> (results, way, forgets)``,
    and goes this way from then on, unless it forgets them again."""
    keys, registry = pxla.JitGlobalCppCacheKeys(), tree_util.dispatch_registry
    return _jax.pjit(name, None, miss, [], [], keys, registry, pxla.cc_shard_arg)


def way_in_c(compiled: Any) -> Any:
    """Returns how C++ calls an executable, which JAX knows only after a first run from Python; None
    for one that calls Python."""
    executable, constants = attrgetter("_executable", "_params.const_args")(compiled)
    run = executable.unsafe_call
    if run.has_host_callbacks or run.mut:
        return None
    # Only types of results are read, and handlers give these whatever memory there is.
    memory = [jax.device_put(np.float32(0), d) for d in run.xla_executable.local_devices()]
    results = [handle(memory) for handle in run.out_handler.handlers]
    return pjit._get_fastpath_data(
        executable, compiled.out_tree, range(compiled.in_tree.num_leaves), results, (), (), None,
        executable.shard_const_args(constants),
    )  # fmt: skip


def forget_calls(jitted: Any) -> None:
    """Makes a jitted function forget its calls, so that C++ dispatches them again. JAX calls a
    function from Python, ten times as slowly, if an exception met its first call. ``clear_cache``
    would drop the traces of all functions."""
    jitted._clear_cache()


def renew_thread_pool() -> None:
    """Gives MLIR threads of this process, a forked one, where JAX lowers from now on."""
    former.append(mlir.global_thread_pool)
    mlir.global_thread_pool = type(mlir.global_thread_pool)()


#: Thread pools of the process that this one was forked from: their ends would wait for threads.
former: list[Any] = []


#: ``(array) -> array`` of the same buffers, to which nothing is attached that the array has cached.
clone = methodcaller("clone")

#: JAX's setting of 64-bit types in this thread, and its setter: ``with jax.enable_x64(True)`` takes
#: seven times as long. The setting of a new thread.
thread_x64, set_thread_x64 = jax.enable_x64.get_local, jax.enable_x64.set_local
global_x64 = jax.enable_x64.get_global
#: True if functions that this thread traces may be differentiated: a context of JAX's, which keeps
#: the traces of a function with either value apart.
differentiable: Any = jax.make_user_context(default_value=True)
thread_differentiable = differentiable._obj.get_local
#: The mesh and the trace that this thread is in; every trace sets both.
thread_mesh, thread_trace = mesh_context.get_local, trace_state_strong_ref.get_local


def restore_thread(x64: object, may_differentiate: object, mesh: object, trace: object) -> None:
    """Sets JAX's state of this thread.

    JAX sets each in contexts. An exception at the very exit of such a context, as a
    KeyboardInterrupt may be, leaves it as it was inside: later calls would be traced, or traced
    again for each thread. JAX has no public way out of a trace.
    """
    set_thread_x64(x64)
    differentiable._obj.set_local(may_differentiate)
    mesh_context.set_local(mesh)
    if thread_trace() is trace:
        return
    trace_ctx.reset()
    if isinstance(trace, Trace):
        trace_ctx.set_trace(trace)


def in_x64(function: Callable[P, T]) -> Callable[P, T]:
    """Wraps a function to run with 64-bit types; JAX's state of the thread is then as before.
    ``jax.enable_x64(True)`` keeps 64-bit types after an exception at its exit."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        state = thread_x64(), thread_differentiable(), thread_mesh(), thread_trace()
        try:
            set_thread_x64(True)
            result = function(*args, **kwargs)
            set_thread_x64(state[0])
        except BaseException:
            restore_thread(*state)
            raise
        return result

    return run


def parts_of(array: jax.Array) -> list[jax.Array]:
    """Returns the parts of an array on its devices, in the order of the devices. JAX lists them on
    first access, in C++ that calls Python for each part: an exception there, such as a
    KeyboardInterrupt, leaves the array with a list of fewer parts for good."""
    shards = array.addressable_shards
    if len(shards) < len(array.sharding.addressable_devices):
        shards = clone(array).addressable_shards
    return [shard.data for shard in shards]


class _BoundsSearch(threading.local):
    #: True while JAX looks for bounds of an expression, which hold for all sizes.
    is_on = False


_search = _BoundsSearch()


#: The functions in the text of a symbolic size.
SIZE_FUNCTIONS = {"floordiv": floordiv, "mod": mod, "max": max, "min": min}


class _NoTraceback:
    """In place of the traceback of a scope, in which JAX looks for a user's file: the first time
    takes a millisecond."""

    def raw_frames(self) -> tuple[list[Any], list[Any]]:
        return [], []


class DecidingScope(shape_poly.SymbolicScope):
    """Symbols that have ``numbers`` by name. A comparison of sizes that comes out differently for
    others is decided by these, and noted: a trace holds for all sizes for which the same is
    decided. JAX raises an exception instead, or takes sizes for different that may be equal."""

    def __init__(self, constraints: Sequence[str], numbers: Mapping[str, int]) -> None:
        with source_info_util.user_context(_NoTraceback()):
            super().__init__(constraints)
        self._names = {**SIZE_FUNCTIONS, **numbers}
        #: By a comparison, such as "s0 - 4 >= 0", what was decided.
        self.decisions: dict[str, bool] = {}

    def assume(self, decisions: Mapping[str, bool]) -> bool:
        """Notes what another trace has decided; False, and nothing noted, if the numbers differ."""
        fits = all(eval(text, self._names) == decided for text, decided in decisions.items())
        if fits:
            self.decisions.update(decisions)
        return fits

    def decide(self, expression: Any, comparison: str, notes_false: bool = True) -> bool:
        """Returns how an expression compares with 0, and notes that, if it is to be."""
        text = f"{expression} {comparison} 0".replace("^", "**")
        decided = self.decisions.get(text)
        if decided is None:
            decided = eval(text, self._names)
            if decided or notes_false:
                self.decisions[text] = decided
        return decided


def size_bounds(
    size: Any,
    precision: Any = shape_poly.BoundsPrecision.FOR_GEQ0_OR_LT0,
    of_jax: Any = shape_poly._bounds_decision,
) -> tuple[float, float]:
    """Returns certain bounds of a symbolic size. JAX asks with another precision to find the larger
    or the smaller one of two sizes, which is decided."""
    scope = getattr(size, "scope", None)
    if not isinstance(scope, DecidingScope) or _search.is_on:
        return of_jax(size, precision)
    is_decided = precision is shape_poly.BoundsPrecision.FOR_GEQ0_OR_LEQ0
    lower, upper = _UNKNOWN
    if not is_decided or _is_linear(size):
        _search.is_on = True
        try:
            lower, upper = of_jax(size, precision)
        finally:
            _search.is_on = False
    if is_decided and lower < 0 < upper:
        return (0, upper) if scope.decide(size, ">=") else (lower, 0)
    return lower, upper


#: Bounds of sizes for which JAX would search for milliseconds: a decision that is noted takes less.
_UNKNOWN = float("-inf"), float("inf")


def _is_linear(size: Any) -> bool:
    factors = [term.to_factor() for term, _ in size._sorted_terms if not term.is_constant]
    return all(factor is not None and factor.to_var() is not None for factor in factors)


def _is_at_least(
    size: Any, minimum: Any, text: Callable[[], str], of_jax: Any = shape_poly._geq_decision
) -> bool:
    scope = getattr(size, "scope", None) or getattr(minimum, "scope", None)
    if not isinstance(scope, DecidingScope) or _search.is_on:
        return of_jax(size, minimum, text)
    difference = size - minimum
    if not shape_poly.is_symbolic_dim(difference):
        return difference >= 0
    lower, upper = size_bounds(difference) if _is_linear(difference) else _UNKNOWN
    return lower >= 0 or (upper >= 0 and scope.decide(difference, ">="))


def _is_equal(size: Any, other: Any, of_jax: Any = shape_poly._DimExpr.__eq__) -> bool:
    scope = size.scope
    if (
        not isinstance(scope, DecidingScope)
        or _search.is_on
        or getattr(other, "scope", scope) is not scope
        or not isinstance(other, shape_poly._DimExpr | int | np.integer)
    ):
        return of_jax(size, other)
    difference = size - other
    if not shape_poly.is_symbolic_dim(difference):
        return difference == 0
    if isinstance(other, shape_poly._DimExpr):
        return scope.decide(difference, "==", notes_false=False)
    # Axes of sizes 0 and 1 are dropped, summed up and broadcast otherwise than others. Other
    # numbers are different: JAX's caches compare the keys of traces, with fixed sizes among them.
    if other not in (0, 1):
        return False
    lower, upper = size_bounds(difference) if _is_linear(difference) else _UNKNOWN
    return lower <= 0 <= upper and scope.decide(difference, "==")


# Every comparison of symbolic sizes calls one of these. JAX has no truth of a size: every remainder
# would be true.
for _owner, _name, _function in (
    (shape_poly, "_bounds_decision", size_bounds),
    (shape_poly, "_geq_decision", _is_at_least),
    (shape_poly._DimExpr, "__eq__", _is_equal),
    (shape_poly._DimExpr, "__bool__", lambda size: size != 0),
):
    setattr(_owner, _name, _function)


#: True while a program is traced. Of other traces XLA compiles each function of JAX by itself, and
#: would round otherwise without them.
traces_program: ContextVar[bool] = ContextVar("executorkit_traces_program", default=False)
#: The trace of a program that nothing differentiates.
final_trace: ContextVar[Trace | None] = ContextVar("executorkit_final_trace", default=None)


class _SplitTrace(Trace):
    """The trace in which the rule of a derivative runs: operations on tangents go to the tangents'
    trace, others to the values'. JAX makes a jaxpr of each rule, and evaluates this, which takes
    several times as long. NotImplementedError where both are in a loop, which JAX divides.
    ``outer_names`` is the number of scopes that tangents leave out."""

    __slots__ = ("outer_names", "tangents", "values")

    def __init__(self, trace: Any, outer_names: int) -> None:
        super().__init__()
        self.requires_low = False
        self.values, self.tangents = trace.parent_trace, trace.tangent_trace
        self.outer_names = outer_names

    def is_tangent(self, x: Any) -> bool:
        return isinstance(x, Tracer) and x._trace is self.tangents

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        avals = [typeof(x) for x in tracers]
        if not any(map(self.is_tangent, tracers)):
            return primitive.bind_with_trace(self.values, tracers, avals, params)
        if primitive is pjit.jit_p:
            with set_current_trace(self):
                return jaxpr_as_fun(params["jaxpr"])(*tracers)
        if primitive in partial_eval.custom_partial_eval_rules:
            raise NotImplementedError(primitive)
        names = source_info_util.current_name_stack()[self.outer_names :]
        with source_info_util.set_name_stack(names):
            return primitive.bind_with_trace(self.tangents, tracers, avals, params)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any
    ) -> Any:
        if not any(map(self.is_tangent, tracers)):
            return self.process_primitive(primitive, tracers, {**params, "subfuns": (fun, jvp)})
        with set_current_trace(self):
            return fun.call_wrapped(*tracers)


def _split(trace: Any, outer_names: int, tracers: Any, rule: Callable[..., Any]) -> Any:
    """Returns the results of ``rule(values, tangents)`` in a linearization; None if impossible."""
    pairs = [trace.to_primal_tangent_pair(x) for x in tracers]
    split = _SplitTrace(trace, outer_names)
    if not traces_program.get() or all(isinstance(t, Zero) for _, t in pairs):
        return None
    try:
        with set_current_trace(split):
            results = list(zip(*rule(*map(tuple, zip(*pairs, strict=True))), strict=True))
    except NotImplementedError:
        return None
    if any(split.is_tangent(x) for x, _ in results):
        return None
    return [ad.LinearizeTracer(trace, x, t) if split.is_tangent(t) else x for x, t in results]


def _linearize_primitive(
    trace: Any, primitive: Any, tracers: Any, params: Any, /,
    of_jax: Any = ad.LinearizeTrace.process_primitive,
) -> Any:  # fmt: skip
    def rule(values: Any, tangents: Any) -> Any:
        results = ad.primitive_jvps[primitive](values, tangents, **params)
        return results if primitive.multiple_results else [[x] for x in results]

    results = None
    split_by_jax = ad.primitive_linearizations, partial_eval.custom_partial_eval_rules
    if primitive in ad.primitive_jvps and not any(primitive in rules for rules in split_by_jax):
        results = _split(trace, trace._name_stack_prefix_len, tracers, rule)
    if results is None:
        return of_jax(trace, primitive, tracers, params)
    return results if primitive.multiple_results else results[0]


def _split_custom(trace: Any, tracers: Any, jvp: Callable[..., Any], zero: Any) -> Any:
    def rule(values: Any, tangents: Any) -> Any:
        tangents = [zero(t.aval) if isinstance(t, Zero) else t for t in tangents]
        results = jvp(*values, *tangents)
        return results[: len(results) // 2], results[len(results) // 2 :]

    return _split(trace, 0, tracers, rule)


def _linearize_custom_jvp(
    trace: Any, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: bool,
    of_jax: Any = ad.LinearizeTrace.process_custom_jvp_call,
) -> Any:  # fmt: skip
    zero = SymbolicZero if symbolic_zeros else zeros_like_aval
    results = _split_custom(trace, tracers, jvp.call_wrapped, zero)
    if results is None:
        return of_jax(trace, primitive, fun, jvp, tracers, symbolic_zeros=symbolic_zeros)
    return results


def linearized(jvp: Callable[..., tuple[Any, Any]], *arrays: Any) -> Any:
    """Returns the result of a function of arrays whose ``jvp(*arrays, *tangents)`` has symbolic
    zeros, where a program is linearized, without what ``jax.custom_jvp`` makes; None elsewhere."""
    trace = trace_ctx.trace
    if not isinstance(trace, ad.LinearizeTrace):
        return None
    results = _split_custom(trace, arrays, jvp, SymbolicZero)
    return None if results is None else results[0]


def is_last_derivative() -> bool:
    """Returns True in the rule of a derivative that is not differentiated again."""
    trace = trace_ctx.trace
    return isinstance(trace, _SplitTrace) and trace.values is final_trace.get()


ad.LinearizeTrace.process_primitive = _linearize_primitive
ad.LinearizeTrace.process_custom_jvp_call = _linearize_custom_jvp
# JAX's rule for it is the default one.
partial_eval.custom_partial_eval_rules.pop(jax.lax.broadcast_in_dim_p)


def _dtype(x: Any) -> str:
    if isinstance(x, np.generic):
        return x.dtype.name
    aval = getattr(x, "aval", None)
    return "" if type(aval) is not ShapedArray or aval.weak_type else aval.dtype.name


def _fit(shape: Any, other: Any) -> bool:
    if shape == other or not shape or not other:
        return True
    pairs = zip(shape, other, strict=False)
    return len(shape) == len(other) and all(
        type(n) is type(m) is int and (n in (m, 1) or m == 1) for n, m in pairs
    )


def _quick(function: Any, of_jax: Any, dtypes: Sequence[str], is_swapped: bool) -> Any:
    def operator(x: Any, y: Any) -> Any:
        if not traces_program.get():
            return of_jax(x, y)
        dtype, other = _dtype(x), _dtype(y)
        if dtype == "float32" and type(y) in (int, float) and -1e30 < y < 1e30:
            y = np.float32(y)
        elif not dtype or dtype != other or dtype not in dtypes or not _fit(x.shape, y.shape):
            return of_jax(x, y)
        return function(y, x) if is_swapped else function(x, y)

    return operator


_INTEGERS = "bool", "int8", "int32", "int64", "uint8", "uint32"
_ANY = *_INTEGERS, "float16", "float32", "float64"
#: JAX's operators of traced arrays are jitted functions, which it looks up, traces and inlines.
#: ``lax`` has them at once: their names there, and dtypes.
_OPERATORS = {
    "add": ("add", ["float32"]), "mul": ("mul", ["float32"]), "sub": ("sub", ["float32"]),
    "truediv": ("div", ["float32"]), "eq": ("eq", _ANY), "ne": ("ne", _ANY), "lt": ("lt", _ANY),
    "le": ("le", _ANY), "gt": ("gt", _ANY), "ge": ("ge", _ANY), "and": ("bitwise_and", _INTEGERS),
    "or": ("bitwise_or", _INTEGERS),
}  # fmt: skip
for _name, (_function, _dtypes) in _OPERATORS.items():
    for _full in (f"_{_name}", f"_r{_name}"):
        _of_jax = getattr(ShapedArray, _full, None)
        if _of_jax is not None:
            _operator = _quick(getattr(jax.lax, _function), _of_jax, _dtypes, _full[1] == "r")
            setattr(ShapedArray, _full, staticmethod(_operator))


def _message(number: int, contents: bytes) -> bytes:
    # A field of Protocol Buffers with fewer than 128 bytes.
    tag = number << 3 | 2
    head = [tag] if tag < 128 else [tag & 127 | 128, tag >> 7]
    return bytes([*head, len(contents)]) + contents


def _compile_options(*args: Any, of_jax: Any = compiler.get_compile_options, **kwargs: Any) -> Any:
    """Makes the options of one compilation, ``xla_backend_extra_options`` among them: names with
    commas between. XLA finds these in its message, but reads them as text for a process only."""
    options = dict(kwargs.get("env_options_overrides") or {})
    names = options.pop("xla_backend_extra_options", None)
    if names is None:
        return of_jax(*args, **kwargs)
    compilation = of_jax(*args, **{**kwargs, "env_options_overrides": options})
    contents = compilation.SerializeAsString()
    for name in names.split(","):
        entry = _message(1, name.encode()) + _message(2, b"1")
        contents += _message(3, _message(3, _message(500, entry)))  # XLA merges these fields
    return type(compilation).ParseFromString(contents)


compiler.get_compile_options = _compile_options
