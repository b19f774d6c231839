"""One optimizer step over the parameters of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isfunction
from typing import Any

from ..optimizer import Updater
from ..parallel import all_reduce
from ..parallel._stacked import PerDevice, ReplicatedArray
from ..parallel._states import broadcast_first, replicated_state
from .executor_group import DataParallelExecutorGroup

_discarding: ContextVar[bool] = ContextVar("executorkit_gradients_used_up", default=False)


@contextmanager
def discard_gradients(callbacks: Iterable[Any]) -> Iterator[None]:
    """In this context updates need not store the gradients that they use: nobody will look.

    Only if all callbacks are this package's own, which look at none. It saves the memory of the
    gradients; looking at one afterwards is an error that says so.
    """
    own = all(_home(c).split(".")[0] == __name__.split(".")[0] for c in callbacks)
    token = _discarding.set(own)
    try:
        yield
    finally:
        _discarding.reset(token)


def _home(callback: Any) -> str:
    return callback.__module__ if isfunction(callback) else type(callback).__module__


def update_group(
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

    Where nobody has looked at outputs or gradients since forward, forward, backward, the sum and
    the update run as one program, on one device or mapped over several. Gradients keep their
    contents, each device's own, unless :func:`discard_gradients` says otherwise.
    """
    group._group.keep_gradients(not _discarding.get())
    names, weights, grads = [], [], []
    for name, weight, grad in zip(
        group.param_names, group.param_arrays, group.grad_arrays or (), strict=False
    ):
        if isinstance(grad, ReplicatedArray) or (grad is not None and grad[0] is not None):
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
    if _mapped(group, names, weights, grads, updater):
        return
    if count > 1 or everywhere:
        # Lists are summed by this process for itself, stacks over all processes.
        grads = all_reduce(grads if everywhere else [list(g) for g in grads])
    updater(names, [g[0] for g in grads], [w[0] for w in weights])
    if count > 1:
        for weight in weights:
            _spread(weight)


def _mapped(
    group: DataParallelExecutorGroup,
    indices: Sequence[Any],
    weights: Sequence[PerDevice],
    grads: Sequence[PerDevice],
    updater: Any,
) -> bool:
    """Makes the update a part of the mapped program that computes the gradients; False, and
    nothing has changed, if that cannot be."""
    run = group._group.mapped_run
    if run is None or not isinstance(updater, Updater):
        return False
    targets = run.targets(weights, grads)
    if targets is None:
        return False
    found = updater.plan_update(indices, [w[0] for w in weights])
    if found is None:
        return False
    first = weights[0]
    assert isinstance(first, ReplicatedArray)
    state = tuple(replicated_state(updater, i, first) for i in indices)
    run.update(targets, found.update, state, found.numbers, found.words(first.contexts[0]))
    return True


def _spread(arrays: Any) -> None:
    """Gives all devices what the first one has."""
    if isinstance(arrays, ReplicatedArray):
        broadcast_first(arrays)
    else:
        for other in arrays[1:]:
            arrays[0].copyto(other)
