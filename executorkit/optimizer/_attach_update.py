"""``attach_update``: an update as a part of the program that computes its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ndarray.protocol import PendingValue, UpdateCall


def attach_update(
    weights: Sequence[PendingValue],
    grads: Sequence[PendingValue],
    prepare: Callable[[], UpdateCall | None],
) -> bool:
    """Makes an update a part of the program that computes the gradients, if that is pending.

    weights, grads
        arrays to be updated, and the gradient of each.
    prepare
        makes the update with its state and this step's hyperparameters. It is called only when the
        pending step can take the update; None withdraws it.

    Returns False if the update cannot become a part of a program: the gradients have been computed,
    someone has looked at an output since forward, or a weight has been written. Nothing is changed
    then, and the caller updates by the gradients themselves.
    """
    producer = grads[0].pending
    return producer is not None and producer.attach_update(weights, grads, prepare)
