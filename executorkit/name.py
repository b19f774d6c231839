"""``mx.name``: how symbols without a name get one."""

from .symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
