"""Private names of JAX, each with the reason for which no public one serves (JAX 0.10); no other
file reads any."""

from collections.abc import Callable
from functools import wraps
from operator import attrgetter, methodcaller
from typing import Any, ParamSpec, TypeVar

import jax
from jax._src.config import abstract_mesh_context_manager as mesh_context

# These have a public home, jax.extend.core. Its import takes 16 ms, since it brings Pallas with it.
from jax._src.core import (
    ClosedJaxpr as ClosedJaxpr,
    Jaxpr as Jaxpr,
    Literal as Literal,
    Primitive as Primitive,
    Trace,
    jaxpr_as_fun as jaxpr_as_fun,
    trace_ctx,
    trace_state_strong_ref,
)
from jax._src.distributed import global_state as distributed_state
from jax._src.interpreters import mlir
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
#: seven times as long.
thread_x64, set_thread_x64 = jax.enable_x64.get_local, jax.enable_x64.set_local
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
