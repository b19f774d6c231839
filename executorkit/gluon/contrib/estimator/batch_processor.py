"""``BatchProcessor``: what an estimator does with one batch."""

from collections.abc import Sequence
from typing import Any

from .... import autograd
from ....context import Context
from ....ndarray import NDArray
from ...utils import split_and_load
from .event_handler import Trained


class BatchProcessor:
    """Runs data and labels of a batch through network and loss. Subclasses override ``fit_batch``
    and ``evaluate_batch`` for other batches. Both return data, labels, predictions and losses:
    lists with an array for each context."""

    def _get_data_and_label(
        self, batch: Any, ctx: Sequence[Context], batch_axis: int = 0
    ) -> tuple[list[NDArray], list[NDArray]]:
        data, label = batch[0], batch[1]
        return split_and_load(data, ctx, batch_axis), split_and_load(label, ctx, batch_axis)

    def evaluate_batch(
        self, estimator: Trained, val_batch: Any, batch_axis: int = 0
    ) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Computes predictions by ``estimator.val_net`` and losses by ``estimator.val_loss``."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(
        self, estimator: Trained, train_batch: Any, batch_axis: int = 0
    ) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Computes predictions and losses, recorded, and their gradients; the step belongs to
        :class:`GradientUpdateHandler`."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
