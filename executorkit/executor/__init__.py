"""``mx.executor``: arrays bound to a compiled program."""

from ._bind import bind, simple_bind
from ._executor import Executor

__all__ = ["Executor", "bind", "simple_bind"]
