"""Facts about a trace: symbolic sizes, devices of a ``shard_map``, derivatives, platforms."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .._support.annotations import Function, Tree
from ..jax_internals import differentiable, final_trace, size_bounds, trace_ctx, traces_program

P = ParamSpec("P")
T = TypeVar("T")

# A symbolic size stands for every size from 1 up, in a function traced for ``jax.export``, or from
# 2 up. Comparing it with a number raises an exception unless the answer is the same for all of
# them, or splits their range where sizes are symbols because they change. So an operator that
# chooses an algorithm by a size asks here, and says how it decides where the size is not known.


def is_known(*sizes: object) -> bool:
    return all(isinstance(size, (int, np.integer)) for size in sizes)


def at_least(size: Any, minimum: Any, otherwise: bool = False) -> bool:
    """Returns ``size >= minimum``, or ``otherwise`` if a symbolic size leaves that open."""
    difference = size - minimum
    if is_known(difference):
        return bool(difference >= 0)
    lower, upper = size_bounds(difference)
    return lower >= 0 or (upper >= 0 and otherwise)


def varying_axes(arrays: Iterable[Array]) -> frozenset[Any]:
    return frozenset().union(*(jax.typeof(x).manual_axis_type.varying for x in arrays))


def varying_over(axes: frozenset[Any], x: Array) -> Array:
    """Casts ``x`` to varying over these axes, as a loop's carry must be. The transpose adds up the
    cotangents of all devices."""
    missing = tuple(axes - varying_axes([x]))
    return lax.pcast(x, missing, to="varying") if missing else x


def varying_as(x: Array, *arrays: Array) -> Array:
    return varying_over(varying_axes(arrays), x)


def varying_struct(shape: Any, dtype: Any, *arrays: Array) -> Tree:
    """Returns shape and dtype of an array that varies over the axes of the arrays; in a
    ``shard_map`` zeros, since only arrays know the axes of the mesh."""
    axes = varying_axes(arrays)
    if not axes:
        return jax.ShapeDtypeStruct(shape, dtype)
    return varying_over(axes, jnp.zeros(shape, dtype))


_cpus_only: ContextVar[bool] = ContextVar("executorkit_cpus_only", default=False)
#: The form of convolutions in C: ``fused`` with what follows, or ``packing`` their weights.
Native = Literal["fused", "packing", None]
_native: ContextVar[Native] = ContextVar("executorkit_native", default=None)


@contextmanager
def this_process_only(is_final: bool = False, native: Native = None) -> Iterator[None]:
    """Marks traces that run in this process alone, where other devices' forms are not traced.
    ``is_final``: nothing differentiates the present one. ``native``: the kernel in C takes
    convolutions."""
    tokens: list[Token[Any]] = [
        _cpus_only.set(jax.default_backend() == "cpu"),
        _native.set(native),
        traces_program.set(True),
        final_trace.set(trace_ctx.trace if is_final else None),
    ]
    try:
        yield
    finally:
        for token in tokens:
            token.var.reset(token)


def traced_for_cpus() -> bool:
    return _cpus_only.get()


def traced_for_fused_kernels() -> bool:
    return _native.get() == "fused"


def traced_for_packing_kernels() -> bool:
    return _native.get() == "packing"


#: True while an operator is traced whose result a convolution reads.
read_by_convolution: ContextVar[bool] = ContextVar("executorkit_convolved", default=False)


def without_derivatives() -> AbstractContextManager[None]:
    """Marks traces that are not differentiated: they take a third of the time."""
    return differentiable(False)


def with_derivatives() -> AbstractContextManager[None]:
    """Marks traces that are differentiated, inside :func:`without_derivatives` too."""
    return differentiable(True)


def without_rules(plain: Callable[P, T], with_rules: Callable[P, T]) -> Callable[P, T]:
    """Returns ``with_rules``, or ``plain`` in a trace that is not differentiated."""

    @wraps(plain)
    def function(*args: P.args, **kwargs: P.kwargs) -> T:
        return (with_rules if differentiable.value else plain)(*args, **kwargs)

    return function


def for_platform(*arrays: Array, cpu: Function, default: Function) -> Tree:
    if traced_for_cpus():
        return cpu(*arrays)
    return lax.platform_dependent(*arrays, cpu=cpu, default=default)
