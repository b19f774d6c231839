"""``mx.executor``: arrays bound to a compiled program."""

from ._bind import bind, simple_bind
from ._executor import Executor
from ._report import Finding, FiniteReport, NotFiniteError

__all__ = ["Executor", "Finding", "FiniteReport", "NotFiniteError", "bind", "simple_bind"]
