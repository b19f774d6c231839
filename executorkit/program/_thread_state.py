"""JAX's state of a thread: 64-bit types, and whether a function is being traced.

JAX sets both in contexts. An exception that comes at the very exit of such a context, as a
KeyboardInterrupt may, leaves them as they were inside: everything after it would be traced.
"""

from __future__ import annotations

import jax
from jax._src.core import trace_ctx  # public JAX has no way to leave a trace


class ThreadState:
    """The state of this thread when it is made, to return to after an exception."""

    __slots__ = ("_at_top_level", "_x64")

    def __init__(self) -> None:
        self._x64 = jax.enable_x64.get_local()
        self._at_top_level = trace_ctx.is_top_level()

    def restore(self) -> None:
        """Sets the state again."""
        jax.enable_x64.set_local(self._x64)
        if self._at_top_level and not trace_ctx.is_top_level():
            trace_ctx.reset()
