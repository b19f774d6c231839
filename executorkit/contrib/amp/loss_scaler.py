"""``LossScaler``: the number that losses are multiplied by, from step to step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ...ndarray import NDArray, multi_all_finite


class LossScaler:
    """The scale of losses: halved when gradients overflow, doubled after 2,000 steps without.

    As in MXNet a new scale is used from the step after the next, so the host need not wait for a
    step: a trainer gives its check to :meth:`defer`, which is read at the next step or when the
    scale is asked for.
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._next = self._loss_scale
        self._good_steps = 0
        self._pending: tuple[NDArray, Callable[[], object]] | None = None

    @property
    def loss_scale(self) -> float:
        """The number that losses are multiplied by."""
        return self._loss_scale

    @property
    def _next_loss_scale(self) -> float:
        self.settle()
        return self._next

    @property
    def _unskipped(self) -> int:
        self.settle()
        return self._good_steps

    def has_overflow(self, params: Sequence[Any]) -> bool:
        """Returns True if a gradient is not finite on any context (MXNet checks the first only);
        counts the step, and decides on the next scale."""
        self.settle()
        self._loss_scale = self._next
        by_context: dict[Any, list[NDArray]] = {}
        for parameter in params:
            if parameter.grad_req != "null":
                for grad in parameter.list_grad():
                    by_context.setdefault(grad.context, []).append(grad)
        flags = [multi_all_finite(*grads, num_arrays=len(grads)) for grads in by_context.values()]
        finite = all(bool(flag.asscalar()) for flag in flags)
        self._count(finite)
        return not finite

    def defer(self, finite: NDArray, undo: Callable[[], object]) -> None:
        """Counts a step; its program sets ``finite`` if it changed anything, otherwise ``undo``
        reverts the other counts."""
        self.settle()
        self._loss_scale = self._next
        self._pending = finite, undo

    def settle(self) -> None:
        """Reads the check of the latest step, if that has not been done."""
        if self._pending is None:
            return
        flag, undo = self._pending
        finite = bool(flag.asscalar())
        self._pending = None
        if not finite:
            undo()
        self._count(finite)

    def _count(self, finite: bool) -> None:
        if finite:
            self._good_steps += 1
        else:
            self._next = self._loss_scale / 2
            self._good_steps = 0
            logging.info("AMP: decreasing loss scale to %f", self._next)
        if self._good_steps == self._scale_seq_len:
            self._next = min(self._max_loss_scale, self._loss_scale * 2)
            self._good_steps = 0
            logging.info("AMP: increasing loss scale to %f", self._next)
