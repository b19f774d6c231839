"""One optimizer step over the parameters of an executor group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isfunction
from typing import Any

from ..ndarray.protocol import UpdateCall
from ..optimizer import Updater, attach_update
from ..parallel import ReplicatedArray, all_reduce, broadcast_first, replicated_state
from .executor_group import DataParallelExecutorGroup

_discarding: ContextVar[bool] = ContextVar("executorkit_discard_gradients", default=False)


@contextmanager
def discard_gradients(observers: Iterable[Any]) -> Iterator[None]:
    """In this context updates need not store the gradients that they use, if nobody will look.

    observers
        callbacks and monitors. Only if all of them are this package's own, which look at no
        gradient, gradients are discarded, which saves their memory; reading one afterwards is an
        error that says so.
    """
    package = __name__.split(".")[0]
    only_ours = all(_module_of(o).split(".")[0] == package for o in observers)
    token = _discarding.set(only_ours)
    try:
        yield
    finally:
        _discarding.reset(token)


def _module_of(observer: Any) -> str:
    return observer.__module__ if isfunction(observer) else type(observer).__module__


def update_group(
    group: DataParallelExecutorGroup,
    indices: Mapping[str, Any],
    updater: Any,
    summed: bool = True,
    all_processes: bool = False,
) -> None:
    """Changes every parameter that has a gradient, as ``updater`` says.

    indices
        the optimizer's index of each parameter.
    summed
        True: all devices get one update, by the sum of their gradients. False: each device gets its
        own, with the index ``index * devices + k``.
    all_processes
        sums over the devices of all processes, which wait for each other.

    Where nobody has looked at outputs or gradients since forward, forward, backward, the sum and
    the update run as one program, on one device or mapped over several. Gradients keep their
    contents, each device's own, unless :func:`discard_gradients` says otherwise.
    """
    group.core.keep_gradients(not _discarding.get())
    arrays = group.trainable_arrays
    if not arrays.names:
        return
    update_indices = [indices[name] for name in arrays.names]
    weights, grads = arrays.weights, arrays.grads
    count = len(group.contexts)
    if not summed:
        for k in range(count):
            device_indices = [i * count + k for i in update_indices]
            updater(device_indices, [g[k] for g in grads], [w[k] for w in weights])
        return
    if arrays.replicated and _attach_replicated(update_indices, *arrays.replicated, updater):
        return
    if count > 1 or all_processes:
        # Lists are summed by this process for itself, replicated arrays over all processes.
        grads = all_reduce(grads if all_processes else [list(g) for g in grads])
    updater(update_indices, [g[0] for g in grads], [w[0] for w in weights])
    if count > 1:
        for weight in weights:
            _copy_first_to_all(weight)


def _attach_replicated(
    indices: Sequence[Any],
    weights: Sequence[ReplicatedArray],
    grads: Sequence[ReplicatedArray],
    updater: Any,
) -> bool:
    """Makes the update of replicated weights a part of the pmapped step that computes their
    gradients; False, and nothing has changed, if that cannot be."""
    if not isinstance(updater, Updater):
        return False
    first = weights[0]

    def prepare() -> UpdateCall | None:
        planned = updater.plan_update(indices, [w[0] for w in weights])
        if planned is None:
            return None
        state = tuple(replicated_state(updater, i, first) for i in indices)
        key_data = planned.key_data(first.contexts[0])
        return UpdateCall(planned.update, state, planned.hyperparams, key_data)

    return attach_update(weights, grads, prepare)


def _copy_first_to_all(arrays: Any) -> None:
    """Copies the first device's array to all others."""
    if isinstance(arrays, ReplicatedArray):
        broadcast_first(arrays)
    else:
        for other in arrays[1:]:
            arrays[0].copyto(other)
