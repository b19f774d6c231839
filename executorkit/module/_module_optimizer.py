"""A module's optimizer and key-value store: created once, shared by buckets, saved and restored."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax

from .. import optimizer as opt
from .._files import write_atomically
from .._support.annotations import Attrs
from ..calls.rollback import all_or_none
from ..context import Context
from ..errors import ModuleUsageError, explain
from ..kvstore import Aggregation
from ..model import _create_kvstore, _initialize_kvstore, _update_params, _update_params_on_kvstore
from ..optimizer import dump_updater, prepare_restoration, read_state_file
from ..parallel import bytes_of_first, share_first, update_parameters
from ..symbol import Symbol
from ..symbol.node import topological_order
from ._arguments import OptimizerSpec
from ._parameters import ParameterStore
from .executor_group import DataParallelExecutorGroup


def update_group(
    group: DataParallelExecutorGroup,
    indices: Mapping[str, Any],
    updater: Any,
    summed: bool = True,
    all_processes: bool = False,
    keep_gradients: bool = True,
) -> None:
    """Updates every parameter that has a gradient by ``updater``, with the optimizer's ``indices``.

    summed
        True: all devices get one update, by the sum of their gradients. False: each device gets its
        own, with the index ``index * devices + k``.
    all_processes
        sums over the devices of all processes, which wait for each other.

    If outputs and gradients have not been read since forward, then forward, backward, the sum and
    the update run as one program, on one device or mapped over several. Gradients keep each
    device's contents if ``keep_gradients``.
    """
    group.core.keep_gradients(keep_gradients)
    trained = group.trained
    if not trained.names:
        return
    update_indices = [indices[name] for name in trained.names]
    weights, grads = trained.arrays, trained.grads
    count = len(group.contexts)
    if not summed:

        def update_device(k: int) -> None:
            device_indices = [i * count + k for i in update_indices]
            updater(device_indices, [g[k] for g in grads], [w[k] for w in weights])

        begin = updater.n_updates
        all_or_none(
            [
                (partial(update_device, k), lambda k=k: updater.n_updates > begin + k)
                for k in range(count)
            ]
        )
        return
    update_parameters(
        group.core, updater, update_indices,
        weights=weights, grads=grads, all_processes=all_processes,
    )  # fmt: skip


class ModuleOptimizer:
    """An optimizer with its store, updater and parameter indices, for all modules that share it."""

    def __init__(
        self,
        spec: OptimizerSpec,
        symbol: Symbol,
        group: DataParallelExecutorGroup,
        parameters: ParameterStore,
        compression_params: Any,
    ) -> None:
        count = len(group.contexts)
        store, update_on_kvstore = _create_kvstore(spec.kvstore, count, parameters.arg_params or {})
        names = group.param_names
        rows = group.batch_size
        if store is not None and "dist" in store.type and "_sync" in store.type:
            rows *= store.num_workers
        if store is not None and compression_params:
            store.set_gradient_compression(compression_params)
        self.kvstore: Any = store
        self.update_on_kvstore = update_on_kvstore
        self.aggregation = Aggregation.of(store)
        self._store_updates = self.aggregation is Aggregation.STORE and update_on_kvstore
        numbered = self._has_state_per_device
        members = count if numbered else 1
        index_names = {i * members + k: n for i, n in enumerate(names) for k in range(members)}
        self.optimizer = _make_optimizer(spec, symbol, 1.0 / rows, index_names)
        if sparse := _row_sparse_weights(symbol):
            self.optimizer.row_sparse = {i for i, n in index_names.items() if n in sparse} | sparse
        self.updater = opt.get_updater(self.optimizer)
        # A store's keys are names, also in the states that it saves.
        self.indices: Attrs = {n: i if numbered else n for i, n in enumerate(names)}
        self._keep_gradients = True
        self._share_parameters(group, parameters)

    def _share_parameters(
        self, group: DataParallelExecutorGroup, parameters: ParameterStore
    ) -> None:
        aggregation = self.aggregation
        if self.update_on_kvstore and not self._store_updates:
            # The store is not called, but scripts read its updater's states.
            self.kvstore.set_updater(self.updater)
        if aggregation is Aggregation.JOB:
            share_first(group.core, group.param_names)
            parameters.stale = True
        if aggregation is not Aggregation.STORE:
            return
        if self._store_updates:
            self.kvstore.set_optimizer(self.optimizer)
        parameters.read(group)
        # All workers begin with the parameters of the first.
        args, _ = parameters.arrays
        arrays, names = group.param_arrays, group.param_names
        _initialize_kvstore(self.kvstore, arrays, args, names, self._store_updates)
        parameters.stale = parameters.stale or self._store_updates

    @property
    def _has_state_per_device(self) -> bool:
        sums_only = self.aggregation is Aggregation.STORE and not self.update_on_kvstore
        return sums_only or self.aggregation is Aggregation.NONE

    @property
    def joins_processes(self) -> bool:
        return self.aggregation is Aggregation.JOB

    @property
    def n_updates(self) -> int:
        if self._store_updates:
            return self.optimizer.num_update
        return self.updater.n_updates

    def set_keep_gradients(self, keep: bool) -> None:
        self._keep_gradients = keep

    def update(self, group: DataParallelExecutorGroup) -> None:
        if self._store_updates:
            _update_params_on_kvstore(
                group.param_arrays, group.grad_arrays or (), self.kvstore, group.param_names
            )
        elif self.aggregation is Aggregation.STORE:
            _update_params(
                group.param_arrays,
                group.grad_arrays or (),
                self.updater,
                len(group.contexts),
                self.kvstore,
                group.param_names,
            )
        else:
            summed = self.aggregation is not Aggregation.NONE or len(group.contexts) == 1
            joins, keep = self.joins_processes, self._keep_gradients
            update_group(group, self.indices, self.updater, summed, joins, keep)

    def save(self, fname: str) -> None:
        if self._store_updates:
            self.kvstore.save_optimizer_states(fname)
        else:
            write_atomically(fname, [dump_updater(self.updater)])

    def load(self, fname: str, contexts: list[Context]) -> None:
        if self._store_updates:
            self.kvstore.load_optimizer_states(fname)
            return
        content = b""
        if not self.joins_processes or jax.process_index() == 0:
            content = read_state_file(fname)
        if self.joins_processes:
            content = bytes_of_first(contexts[0].device, content)
        devices = [c.device_id for c in contexts]
        if not self._has_state_per_device:
            devices = devices[:1]
        prepare_restoration(self.updater, content, self.indices, devices, str(fname))()


def _row_sparse_weights(symbol: Symbol) -> set[str]:
    sparse, dense = set[str](), set[str]()
    for node in topological_order(symbol.heads):
        always = node.op is not None and node.op.name == "_contrib_SparseEmbedding"
        by_rows = always or (node.params is not None and node.params.get("sparse_grad"))
        for place, (source, _) in enumerate(node.inputs):
            (sparse if by_rows and place == 1 else dense).add(source.name)
    return sparse - dense


def _make_optimizer(
    spec: OptimizerSpec, symbol: Symbol, rescale: float, index_names: Mapping[int, str]
) -> Any:
    optimizer = spec.optimizer
    if isinstance(optimizer, str):
        params: Attrs = {"rescale_grad": rescale, **dict(spec.optimizer_params)}
        return opt.create(optimizer, sym=symbol, param_idx2name=dict(index_names), **params)
    if not isinstance(optimizer, opt.Optimizer):
        problem = f"a {type(optimizer).__name__}, expected a name or an Optimizer"
        raise ModuleUsageError("init_optimizer: optimizer", problem)
    if optimizer.rescale_grad != rescale:
        warnings.warn(
            explain(
                "init_optimizer: optimizer",
                f"its rescale_grad is {optimizer.rescale_grad}, not {rescale}",
                because="gradients of most losses are sums over the rows of a batch",
                hint=f"rescale_grad={rescale} for the usual step",
            ),
            UserWarning,
            stacklevel=5,
        )
    if not optimizer.idx2name:
        optimizer.idx2name = {**index_names}
    return optimizer
