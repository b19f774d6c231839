"""``mx.sym.contrib.adamw_update`` and its sister: names that MXNet has, but no graph can hold."""

from __future__ import annotations

from typing import Any, NoReturn

from ._call import call, find
from ._symbol import Symbol


def adamw_update(
    weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, rescale_grad: Any,
    lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    wd: float = 0, clip_gradient: float = -1, out: Any = None, name: str | None = None,
    **kwargs: Any,
) -> NoReturn:  # fmt: skip
    """Raises :class:`MXNetError`, as in MXNet: the update changes arrays in place.

    ``mx.nd.contrib.adamw_update`` updates arrays.
    """
    _refuse("_adamw_update", name)


def mp_adamw_update(
    weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, weight32: Symbol, rescale_grad: Any,
    lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    wd: float = 0, clip_gradient: float = -1, out: Any = None, name: str | None = None,
    **kwargs: Any,
) -> NoReturn:  # fmt: skip
    """Raises :class:`MXNetError`, as :func:`adamw_update` does."""
    _refuse("_mp_adamw_update", name)


def _refuse(operator: str, name: str | None) -> NoReturn:
    call(find(operator), operator, (), {"name": name, "lr": 0, "eta": 0})
    raise AssertionError(f"{operator} is for arrays only")
