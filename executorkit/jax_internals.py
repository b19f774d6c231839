"""Private names of JAX, each with the reason for which no public one serves (JAX 0.10); no other
file reads any."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import reduce, wraps
from operator import attrgetter, floordiv, methodcaller, mod
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax._src import compiler, source_info_util
from jax._src.ad_util import Zero

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
    jaxpr_as_fun as jaxpr_as_fun,
    trace_ctx,
    trace_state_strong_ref,
)
from jax._src.distributed import global_state as distributed_state
from jax._src.export import shape_poly
from jax._src.interpreters import ad, mlir
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]

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
#: The C++ function that a ``jax.stages.Compiled`` calls, which its first call makes; None before.
#: A call of the ``Compiled`` itself may be interrupted between the end of the program and the
#: moment at which Python has its results.
c_function = attrgetter("_call")


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


def _decide_comparisons() -> None:
    # Every comparison of symbolic sizes calls one of these. JAX has no truth of a size: every
    # remainder would be true.
    for owner, name, function in (
        (shape_poly, "_bounds_decision", size_bounds),
        (shape_poly, "_geq_decision", _is_at_least),
        (shape_poly._DimExpr, "__eq__", _is_equal),
        (shape_poly._DimExpr, "__bool__", lambda size: size != 0),
    ):
        setattr(owner, name, function)


_decide_comparisons()


def _linearize_directly(primitive: Primitive) -> None:
    """Has JAX compute the tangents of a primitive by its rule, where it would trace a jaxpr of the
    rule and evaluate that. Only for rules that compute nothing but tangents: what else they compute
    would not be kept for backward."""
    jvp: Any = ad.primitive_jvps[primitive]

    def linearize(is_vjp: bool, nonzeros: Sequence[bool], *primals: Any, **params: Any) -> Any:
        floating = [jax.numpy.issubdtype(x.dtype, np.floating) for x in primals]
        if not all(floating) or (primitive is jax.lax.div_p and nonzeros[1]):
            return ad.fallback_linearize_rule(primitive, is_vjp, nonzeros, *primals, **params)
        out = primitive.bind(*primals, **params)

        def tangent(_: object, *tangents: Any) -> Any:
            kind = getattr(jvp, "func", None)
            if kind is ad.linear_jvp:
                return primitive.bind(*map(ad.instantiate_zeros, tangents), **params)
            if kind not in (ad.standard_jvp, ad.standard_jvp2):
                return jvp(primals, tangents, **params)[1]
            values = primals if kind is ad.standard_jvp else (out, *primals)
            pairs = zip(jvp.args[0], tangents, strict=True)
            terms = [r(t, *values, **params) for r, t in pairs if not isinstance(t, Zero)]
            return reduce(ad.add_tangents, terms)

        return out, True, (), tangent

    ad.primitive_linearizations[primitive] = linearize


for _name in (
    "add", "broadcast_in_dim", "concatenate", "conv_general_dilated", "div", "dot_general", "exp",
    "log", "mul", "neg", "pad", "reduce_sum", "reshape", "slice", "squeeze", "sub", "transpose",
):  # fmt: skip
    _linearize_directly(getattr(jax.lax, f"{_name}_p"))


#: True while a program is traced. Of other traces XLA compiles each function of JAX by itself, and
#: would round otherwise without them.
traces_program: ContextVar[bool] = ContextVar("executorkit_traces_program", default=False)


def _is_float32(x: Any) -> bool:
    aval = getattr(x, "aval", None)
    return type(aval) is ShapedArray and aval.dtype == np.float32 and not aval.weak_type


def _quick(function: Callable[[Any, Any], Any], of_jax: Any, is_swapped: bool) -> Any:
    def operator(x: Any, y: Any) -> Any:
        if not traces_program.get():
            return of_jax(x, y)
        if type(y) in (int, float) and -1e30 < y < 1e30 and _is_float32(x):
            y = np.float32(y)
        elif not (_is_float32(x) and _is_float32(y)) or (x.shape != y.shape and x.ndim and y.ndim):
            return of_jax(x, y)
        return function(y, x) if is_swapped else function(x, y)

    return operator


# JAX's operators of traced arrays are jitted functions, which it looks up, traces and inlines.
for _name, _function in {"add": "add", "mul": "mul", "sub": "sub", "truediv": "div"}.items():
    for _full in (f"_{_name}", f"_r{_name}"):
        _of_jax = getattr(ShapedArray, _full)
        _operator = _quick(getattr(jax.lax, _function), _of_jax, _full != f"_{_name}")
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
