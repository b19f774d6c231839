"""Steps of training and evaluation after each batch: metrics and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model import BatchEndParam


def update_metric_of(module: Any, eval_metric: Any, batch: Any) -> None:
    """Updates a metric with a batch's labels, or with those of a list of batches."""
    if isinstance(batch, list):
        module.update_metric(eval_metric, [b.label for b in batch], pre_sliced=True)
    else:
        module.update_metric(eval_metric, batch.label)


def call_batch_callbacks(
    callbacks: Any, module: Any, epoch: int, nbatch: int, eval_metric: Any, **variables: Any
) -> None:
    """Calls batch callbacks. Their ``locals`` are the names given here, not the caller's."""
    if not callbacks:
        return
    names = {"self": module, "epoch": epoch, "nbatch": nbatch, "eval_metric": eval_metric}
    param = BatchEndParam(epoch, nbatch, eval_metric, {**names, **variables})
    for callback in as_sequence(callbacks):
        callback(param)


def as_sequence(callbacks: Any) -> Sequence[Callable[..., Any]]:
    """Callbacks as a sequence: given as one, several, or None."""
    if callbacks is None:
        return ()
    return callbacks if isinstance(callbacks, list | tuple) else (callbacks,)
