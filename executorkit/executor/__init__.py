"""``mx.executor``: arrays bound to a compiled program."""

from ..errors import NotFiniteError
from ._bind import bind, simple_bind
from ._executor import Executor
from ._report import Finding, FiniteReport

__all__ = ["Executor", "Finding", "FiniteReport", "NotFiniteError", "bind", "simple_bind"]
