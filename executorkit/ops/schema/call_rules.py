"""A rule that changes the calls of operators, on arrays and in graphs: mixed precision installs it.

Both frontends ask for it at each call that a user makes, and do nothing while there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .operator_registry import OpDef

#: Types between which inputs are cast.
CAST_TYPES = frozenset({"float16", "bfloat16", "float32"})
#: In place of a type: the widest among the inputs.
WIDEST = "widest"


class CallRule(Protocol):
    """Changes of calls; attributes are those that a call gives by keyword."""

    def input_type(self, op: OpDef, attrs: Mapping[str, Any]) -> str | None:
        """The type that inputs of :data:`CAST_TYPES` are cast to, :data:`WIDEST`, or None."""
        ...

    def array_attrs(self, op: OpDef, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes of a call on arrays."""
        ...

    def symbol_call(self, op: OpDef) -> None:
        """Notes a call on symbols."""
        ...


class CallRules:
    """Holder of the rule.

    rule
        the installed one, or None.
    """

    __slots__ = ("rule",)

    def __init__(self) -> None:
        self.rule: CallRule | None = None


call_rules = CallRules()
