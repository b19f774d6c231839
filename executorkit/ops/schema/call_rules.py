"""A rule that changes operator calls on arrays and in graphs: mixed precision installs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .operator_registry import OpDef

#: Types between which inputs are cast.
CAST_TYPES = frozenset({"float16", "bfloat16", "float32"})
#: In place of a type: the widest among the inputs.
WIDEST = "widest"


class CallRule(Protocol):
    """Changes of calls; attributes are the call's keywords."""

    def input_type(self, op: OpDef, attrs: Mapping[str, object]) -> str | None:
        """Returns the type to cast inputs of :data:`CAST_TYPES` to, :data:`WIDEST`, or None."""
        ...

    def array_attrs(self, op: OpDef, attrs: Mapping[str, object]) -> Mapping[str, Any]: ...

    def symbol_call(self, op: OpDef) -> None: ...


class CallRules:
    __slots__ = ("rule",)

    def __init__(self) -> None:
        self.rule: CallRule | None = None


call_rules = CallRules()
