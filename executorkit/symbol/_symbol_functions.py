"""``mx.sym.X`` for every operator: functions made when they are first looked up."""

from collections.abc import Callable
from typing import Any

from ..ops.schema.operator_modules import operator_module
from ._symbol import Symbol, call_operator


def symbol_module(
    namespace: dict[str, Any], module: str
) -> tuple[Callable[[str], Callable[..., Symbol]], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a module of operators, stored in ``namespace``."""
    return operator_module(namespace, module, "symbol", call_operator)
