"""``mx.executor``: arrays bound to a compiled program."""

from ..debugging.finite_report import Finding, FiniteReport
from ..errors import NotFiniteError
from ._bind import bind, simple_bind
from ._executor import Executor

__all__ = ["Executor", "Finding", "FiniteReport", "NotFiniteError", "bind", "simple_bind"]
