"""``mx.name``: the names of symbols that are created without one."""

from .symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
