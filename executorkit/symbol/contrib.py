"""``mx.sym.contrib``: loops, branches, and operators of the contrib namespace, as ``box_nms``."""

import math
from typing import Any, NoReturn

from . import op
from ._compose import compose_call, require_operator
from ._control_flow import cond, foreach, while_loop
from ._symbol import Symbol
from ._symbol_functions import symbol_module
from .random import uniform

__all__ = ["adamw_update", "cond", "foreach", "mp_adamw_update", "rand_zipfian", "while_loop"]

__getattr__, __dir__ = symbol_module(globals(), "contrib")


def adamw_update(*args: Any, name: str | None = None, **kwargs: Any) -> NoReturn:
    """Raises :class:`MXNetError`, as in MXNet; ``mx.nd.contrib.adamw_update`` updates arrays."""
    _refuse("_adamw_update", name)


def mp_adamw_update(*args: Any, name: str | None = None, **kwargs: Any) -> NoReturn:
    """Raises :class:`MXNetError`, as in MXNet; ``mx.nd.contrib.mp_adamw_update`` updates arrays."""
    _refuse("_mp_adamw_update", name)


def _refuse(operator: str, name: str | None) -> NoReturn:
    compose_call(require_operator(operator), operator, (), {"name": name, "lr": 0, "eta": 0})
    raise AssertionError(f"{operator} is for arrays only")


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draws classes from an approximately Zipfian distribution.

    P(c) = log((c + 2) / (c + 1)) / log(range_max + 1). true_classes has any shape. Returns
    ``num_sampled`` classes (num_sampled,), int64, and the expected counts of the true and of the
    drawn classes among them (float64, in the shapes of both).
    """
    total = math.log(range_max + 1)
    draws = uniform(0, total, shape=(num_sampled,), dtype="float64")
    sampled = op.cast(op.exp(draws) - 1, dtype="int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        c = op.cast(classes, dtype="float64")
        return op.log((c + 2) / (c + 1)) * (num_sampled / total)

    return sampled, expected(true_classes), expected(sampled)
