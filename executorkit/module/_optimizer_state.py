"""A module's optimizer: made by name, shared by buckets, saved so that a run can be resumed.

One optimizer step over the parameters of a group.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isfunction
from typing import Any

import jax

from .. import optimizer as opt
from .._files import write_atomically
from ..errors import ModuleUsageError, explain
from ..kvstore import KVStore
from ..model import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from ..optimizer import Updater
from ..optimizer._state_file import dump_updater, restore_updater
from ..parallel import all_reduce
from ..parallel._replicated_array import PerDevice, ReplicatedArray
from ..parallel._replicated_state import broadcast_first, replicated_state
from ._parameters import Parameters
from ._preconditions import require
from .executor_group import DataParallelExecutorGroup


class Optimizing(Parameters):
    """How a module's parameters are updated.

    With a ``kvstore``, whatever its name, an update is one step by the sum of the gradients of all
    devices, and all devices then have the same parameters. A 'dist' store sums over all processes
    as well. Where MXNet keeps parameters in the store, and where with the devices, depends on the
    store, the environment and the size of the parameters; results do not, so here they are always
    with the devices. Without store (None) each device takes a step by its own gradients.

    Stores that compress gradients, and classes of stores that users write
    (``KVStoreBase.register``), do what they do: gradients are given to ``pushpull``, and if the
    store has the capability 'optimizer', it updates.
    """

    _optimizer: Any
    _kvstore: Any
    _update_on_kvstore: bool
    _updater: Any
    _indices: dict[str, Any]
    _preload_opt_states: str | None
    _compression_params: Any

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes the optimizer that ``update`` uses.

        kvstore
            'local', 'device', 'dist_sync', ..., a store, or None; see the class.
        optimizer
            a name, or an Optimizer. One that is made by name divides gradients by the number of
            rows of a batch (of all processes, with a 'dist' store), unless ``optimizer_params`` has
            a ``rescale_grad``; an instance that does not gets a warning.
        optimizer_params
            arguments of the named optimizer: a dict or pairs.
        force_init
            makes a new one if there is one already; otherwise that is only logged.

        Raises AssertionError unless bound and initialised, ValueError for an unknown name,
        TypeError for something else.
        """
        require(self, "init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("init_optimizer: there is an optimizer already; nothing is done")
            return
        count = len(self._context)
        store, on_store = _create_kvstore(kvstore, count, self._arg_params or {})
        group = self._exec_group
        names = group.param_names
        rows = group.batch_size
        if store is not None and "dist" in store.type and "_sync" in store.type:
            rows *= store.num_workers
        if store is not None and self._compression_params:
            store.set_gradient_compression(self._compression_params)
        apart = count > 1 and (store is None or (_is_asked(store) and not on_store))
        by_index = (
            {i * count + k: name for i, name in enumerate(names) for k in range(count)}
            if apart
            else dict(enumerate(names))
        )
        self._optimizer = self._make_optimizer(optimizer, optimizer_params, 1.0 / rows, by_index)
        self._kvstore = store
        self._update_on_kvstore = on_store
        self._updater = opt.get_updater(self._optimizer)
        # A store's keys are names; so are those of the states that it saves.
        self._indices = {n: i if apart or store is None else n for i, n in enumerate(names)}
        if store is not None and (_is_asked(store) or _everywhere(store)):
            if _is_asked(store) and on_store:
                store.set_optimizer(self._optimizer)
            # All workers begin with the parameters of the first.
            given = on_store or not _is_asked(store)
            _initialize_kvstore(store, group.param_arrays, self.get_params()[0], names, given)
            self._params_dirty = given
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _make_optimizer(
        self, optimizer: Any, params: Any, rescale: float, by_index: Mapping[int, str]
    ) -> Any:
        if isinstance(optimizer, str):
            given: dict[str, Any] = {"rescale_grad": rescale, **dict(params)}
            return opt.create(optimizer, sym=self._symbol, param_idx2name=dict(by_index), **given)
        if not isinstance(optimizer, opt.Optimizer):
            problem = f"a {type(optimizer).__name__}, expected a name or an Optimizer"
            raise ModuleUsageError(explain("init_optimizer: optimizer", problem))
        if optimizer.rescale_grad != rescale:
            warnings.warn(
                explain(
                    "init_optimizer: optimizer",
                    f"its rescale_grad is {optimizer.rescale_grad}, not {rescale}",
                    because="gradients of most losses are sums over the rows of a batch",
                    hint=f"rescale_grad={rescale} for the usual step",
                ),
                UserWarning,
                stacklevel=3,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = dict(by_index)
        return optimizer

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Uses another module's optimizer, with its states and counts. AssertionError if that has
        none."""
        require(shared_module, "borrow_optimizer", "optimizer_initialized")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self._indices = shared_module._indices
        self.optimizer_initialized = True

    def update(self) -> None:
        """Changes the parameters as the optimizer says, by the gradients of the last backward."""
        require(self, "update", "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        group, store = self._exec_group, self._kvstore
        if not _is_asked(store):
            summed = store is not None or len(self._context) == 1
            update_group(group, self._indices, self._updater, summed, _everywhere(store))
            return
        arrays = group.param_arrays, group.grad_arrays or ()
        if self._update_on_kvstore:
            _update_params_on_kvstore(*arrays, store, group.param_names)
        else:
            count = len(self._context)
            _update_params(*arrays, self._updater, count, store, group.param_names)

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the optimizer's states to a file, which is there whole or not at all.

        MXNet reads such a file. It also has what MXNet's lack: how often each parameter has been
        updated and the state of ``mx.random``, so that a run that loads it goes on bit for bit.
        """
        require(self, "save_optimizer_states", "optimizer_initialized")
        if _is_asked(self._kvstore) and self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
            return
        write_atomically(fname, [dump_updater(self._updater)])

    def load_optimizer_states(self, fname: str) -> None:
        """Takes the optimizer's states, and what else a file of :meth:`save_optimizer_states` has.

        A file of MXNet's has no counts: they begin anew, as there. The file may be that of a module
        with another number of devices, with or without a store (in MXNet it is then ignored, or an
        error): a device that has states of its own takes those of its number, or of the last one.
        """
        require(self, "load_optimizer_states", "optimizer_initialized")
        if _is_asked(self._kvstore) and self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            return
        with open(fname, "rb") as file:
            content = file.read()
        devices = [c.device_id for c in self._context]
        summed = self._kvstore is not None and (
            self._update_on_kvstore or not _is_asked(self._kvstore)
        )
        restore_updater(self._updater, content, self._indices, devices[:1] if summed else devices)


def _is_asked(store: Any) -> bool:
    """Whether a store's methods have to be called: it is of a user's class, or compresses."""
    return store is not None and (not isinstance(store, KVStore) or store.compresses)


def _everywhere(store: Any) -> bool:
    """Whether gradients are summed over all processes."""
    return store is not None and "dist" in store.type and jax.process_count() > 1


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
