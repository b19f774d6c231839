"""JAX's state of a thread: 64-bit types, and whether a function is being traced.

JAX sets both in contexts. An exception that comes at the very exit of such a context, as a
KeyboardInterrupt may, leaves them as they were inside: everything after it would be traced.
"""

from __future__ import annotations

import jax

# JAX has no public way out of a trace.
from jax._src.core import Trace, trace_ctx, trace_state_strong_ref


class ThreadState:
    """The state of this thread when it is made, to return to after an exception."""

    __slots__ = ("_trace", "_x64")

    def __init__(self) -> None:
        self._x64 = jax.enable_x64.get_local()
        self._trace = trace_state_strong_ref.get_local()

    def restore(self) -> None:
        """Sets the state again."""
        jax.enable_x64.set_local(self._x64)
        if trace_state_strong_ref.get_local() is self._trace:
            return
        trace_ctx.reset()
        if isinstance(self._trace, Trace):
            trace_ctx.set_trace(self._trace)
