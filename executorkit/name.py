"""``mx.name``: the names of symbols that are created without one."""

from .symbol.naming import NameManager as NameManager, Prefix as Prefix
