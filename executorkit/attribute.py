"""``mx.attribute``: annotations for every symbol created in a ``with`` statement."""

from .symbol._naming import AttrScope

__all__ = ["AttrScope"]
