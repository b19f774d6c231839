"""``mx.module``, ``mx.mod``: what modules are built on."""

from . import executor_group

__all__ = ["executor_group"]
