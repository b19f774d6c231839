"""A module's optimizer: made by name, shared by buckets, saved so that a run can be resumed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax

from .. import optimizer as opt
from .._files import write_whole
from ..errors import MXNetError, explain
from ._parameters import Parameters
from ._states import dumped, restored
from ._update import apply_updates
from ._usage import ModuleUsageError, require


class StoreTypeError(MXNetError, TypeError):
    """``kvstore`` is neither a store, nor the name of one, nor None."""


class Optimizing(Parameters):
    """How a module's parameters are updated.

    With a ``kvstore``, whatever its name, an update is one step by the sum of the gradients of all
    devices, and all devices then have the same parameters. A 'dist' store sums over all processes
    as well. Where MXNet keeps parameters in the store, and where with the devices, depends on the
    store, the environment and the size of the parameters; results do not, so here they are always
    with the devices. Without store (None) each device takes a step by its own gradients.
    """

    _optimizer: Any
    _kvstore: Any
    _update_on_kvstore: bool | None
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
        store = store_of(kvstore, count)
        names = self._exec_group.param_names
        rows = self._exec_group.batch_size
        if _everywhere(store) and "_sync" in store.type:
            rows *= store.num_workers
        if store is None and count > 1:
            by_index = {i * count + k: name for i, name in enumerate(names) for k in range(count)}
        else:
            by_index = dict(enumerate(names))
        self._optimizer = self._made(optimizer, optimizer_params, 1.0 / rows, by_index)
        self._kvstore = store
        self._update_on_kvstore = store is not None
        self._updater = opt.get_updater(self._optimizer)
        # A store's keys are names; so are those of the states that it saves.
        self._indices = {name: i if store is None else name for i, name in enumerate(names)}
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _made(
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
        summed = self._kvstore is not None or len(self._context) == 1
        everywhere = _everywhere(self._kvstore)
        apply_updates(self._exec_group, self._indices, self._updater, summed, everywhere)

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the optimizer's states to a file, which is there whole or not at all.

        MXNet reads such a file. It also has what MXNet's lack: how often each parameter has been
        updated and the state of ``mx.random``, so that a run that loads it goes on bit for bit.
        """
        require(self, "save_optimizer_states", "optimizer_initialized")
        write_whole(fname, [dumped(self._updater)])

    def load_optimizer_states(self, fname: str) -> None:
        """Takes the optimizer's states, and what else a file of :meth:`save_optimizer_states` has.
        A file of MXNet's has no counts: they begin anew, as there."""
        require(self, "load_optimizer_states", "optimizer_initialized")
        with open(fname, "rb") as file:
            content = file.read()
        restored(self._updater, content, self._indices)


def store_of(kvstore: Any, count: int) -> Any:
    """The store that a ``kvstore`` argument means; None for one device that needs none."""
    from .. import kvstore as kvs

    if kvstore is None or (isinstance(kvstore, str) and count == 1 and "dist" not in kvstore):
        return None
    if isinstance(kvstore, str):
        return kvs.create(kvstore)
    if not hasattr(kvstore, "type"):
        problem = f"a {type(kvstore).__name__}, expected a KVStore, the name of one, or None"
        raise StoreTypeError(explain("init_optimizer: kvstore", problem))
    return kvstore


def _everywhere(store: Any) -> bool:
    """Whether gradients are summed over all processes."""
    return store is not None and "dist" in store.type and jax.process_count() > 1
