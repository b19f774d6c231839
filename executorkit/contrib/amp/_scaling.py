"""Losses that are scaled, so that gradients of half precision do not vanish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import InputTypeError
from ...gluon import Trainer
from ...ndarray import NDArray, full
from ...optimizer import Optimizer
from ._casting import require_init
from .loss_scaler import LossScaler


def init_trainer(optimizer_or_trainer: object) -> None:
    """Has a ``gluon.Trainer`` scale losses and skip steps whose gradients overflow. AssertionError
    (ArgumentValueError) before :func:`init`; TypeError (InputTypeError) without a trainer."""
    where = "amp.init_trainer"
    rule = require_init(where)
    if isinstance(optimizer_or_trainer, Optimizer):
        raise InputTypeError(where, "an Optimizer, expected a gluon.Trainer of it")
    if not isinstance(optimizer_or_trainer, Trainer):
        name = type(optimizer_or_trainer).__name__
        raise InputTypeError(where, f"a {name}, expected a gluon.Trainer")
    scaler = LossScaler() if rule.is_scaler_taken else rule.loss_scaler
    rule.is_scaler_taken = True
    optimizer_or_trainer.use_loss_scaler(scaler)


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """Returns a context with the scaled loss, or a list of losses, inside ``autograd.record()``.

    The trainer's next step divides the gradients by the scale, an input of its program, which is
    not compiled again for a new scale. AssertionError (ArgumentValueError) before
    :func:`init_trainer`.
    """
    scale = optimizer_or_trainer.begin_scaled_loss()
    if isinstance(loss, list | tuple):
        yield [_scaled(x, scale) for x in loss]
    else:
        yield _scaled(loss, scale)


def _scaled(loss: Any, scale: float) -> Any:
    if isinstance(loss, NDArray) and loss.ndim:
        return loss * full((1,), scale, ctx=loss.context, dtype=loss.dtype)
    return loss * scale


def unscale(optimizer_or_trainer: Any) -> None:
    """Divides the gradients of a trainer's parameters by the scale at once, to look at them or clip
    them; the next step does not divide them again."""
    optimizer_or_trainer.unscale_gradients()
