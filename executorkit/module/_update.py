"""One optimizer step over the parameters of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..parallel import all_reduce
from ..parallel._stacked import Stacked
from .executor_group import DataParallelExecutorGroup


def apply_updates(
    group: DataParallelExecutorGroup,
    indices: Mapping[str, Any],
    updater: Any,
    summed: bool = True,
    everywhere: bool = False,
) -> None:
    """Changes every parameter that has a gradient, as ``updater`` says.

    indices
        the optimizer's index of each parameter.
    summed
        whether all devices get one update, of the sum of their gradients; otherwise each device
        gets its own, with the index ``index * devices + k``.
    everywhere
        whether the sum is over the devices of all processes, which wait for each other.

    Gradients keep their contents: each device's own.
    """
    names, weights, grads = [], [], []
    for name, weight, grad in zip(
        group.param_names, group.param_arrays, group.grad_arrays or (), strict=False
    ):
        if isinstance(grad, Stacked) or (grad is not None and grad[0] is not None):
            names.append(indices[name])
            weights.append(weight)
            grads.append(grad)
    if not names:
        return
    count = len(group.contexts)
    if not summed:
        for k in range(count):
            numbers = [i * count + k for i in names]
            updater(numbers, [g[k] for g in grads], [w[k] for w in weights])
        return
    if count > 1 or everywhere:
        # Lists are summed by this process for itself, stacks over all processes.
        grads = all_reduce(grads if everywhere else [list(g) for g in grads])
    updater(names, [g[0] for g in grads], [w[0] for w in weights])
    if count > 1:
        for weight in weights:
            _spread(weight)


def _spread(arrays: Any) -> None:
    """Gives all devices what the first one has."""
    if isinstance(arrays, Stacked):
        arrays._assign(arrays.replicas.broadcast(arrays[0]._value))
    else:
        for other in arrays[1:]:
            arrays[0].copyto(other)
