"""``mx.attribute``: annotations for every symbol created in a ``with`` statement."""

from .symbol.naming import AttrScope as AttrScope
