"""Private names of JAX, each with the reason for which no public one serves (JAX 0.10).

No other file reads any, so that this one is all that has to follow a change of JAX.
"""

from operator import attrgetter
from typing import Any

import jax
from jax._src.core import Trace, trace_ctx, trace_state_strong_ref
from jax._src.lib import utils, xla_client  # pyright: ignore[reportPrivateImportUsage]

#: ``(aval, sharding, [host array], [device], committed) -> array`` that takes over the memory of
#: the host array. ``jax.device_put`` does this with six times as much Python.
batched_device_put = xla_client.batched_device_put
#: The C++ function that a ``jax.stages.Compiled`` calls, which its first call makes; None before.
#: A call of the ``Compiled`` itself may be interrupted between the end of the program and the
#: moment at which Python has its results.
c_function = attrgetter("_call")
#: ``(level) -> None`` that lets XLA print what is at least as grave: 1 warnings, 2 errors. The
#: environment variable TF_CPP_MIN_LOG_LEVEL is read once, when JAX is imported.
set_min_log_level = utils.absl_set_min_log_level


def forget_calls(jitted: Any) -> None:
    """Makes a jitted function forget the calls that it knows, so that C++ dispatches them again.

    JAX calls a function from Python, which takes ten times as long, where the first call that it
    knows of met an exception. ``clear_cache`` makes it look up the traces of all functions again.
    """
    jitted._clear_cache()


#: JAX's setting of 64-bit types in this thread, and its setter: ``with jax.enable_x64(True)`` takes
#: seven times as long.
thread_x64, set_thread_x64 = jax.enable_x64.get_local, jax.enable_x64.set_local
#: The trace that this thread is in.
thread_trace = trace_state_strong_ref.get_local


def restore_thread(x64: Any, trace: Any) -> None:
    """Sets JAX's state of this thread, as :data:`thread_x64` and :data:`thread_trace` gave it.

    JAX sets both in contexts. An exception that comes at the very exit of such a context, as a
    KeyboardInterrupt may, leaves them as they were inside: everything after it would be traced.
    JAX has no public way out of a trace.
    """
    set_thread_x64(x64)
    if thread_trace() is trace:
        return
    trace_ctx.reset()
    if isinstance(trace, Trace):
        trace_ctx.set_trace(trace)


class ThreadState:
    """JAX's state of this thread when it is made, to return to after an exception."""

    __slots__ = ("_trace", "_x64")

    def __init__(self) -> None:
        self._x64, self._trace = thread_x64(), thread_trace()

    def restore(self) -> None:
        """Sets the state again."""
        restore_thread(self._x64, self._trace)
