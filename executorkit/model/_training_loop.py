"""MXNet's classic training loop, over a DataParallelExecutorManager."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import optimizer as opt
from ..executor_manager import DataParallelExecutorManager
from ..metric import EvalMetric
from ..ndarray import NDArray
from ._batch_end import BatchEndParam, call_callbacks
from ._kvstore_update import _initialize_kvstore, _update_params, _update_params_on_kvstore


@dataclass
class LoopCallbacks:
    """Callbacks of the loop; each a function, a list of functions, or None."""

    epoch_end: Any = None
    batch_end: Any = None
    eval_end: Any = None
    eval_batch_end: Any = None


class TrainingLoop:
    """Trains a manager's network, through a key-value store or by an updater.

    manager
        the manager, with its parameters set.
    arg_params, aux_params
        arrays that the parameters are written to at the end, and after each epoch if a callback
        looks at them.
    optimizer
        the optimizer, used by the store or by an updater.
    kvstore, update_on_kvstore
        the results of :func:`_create_kvstore`.

    With one device and no store, forward, backward and update are one compiled program.
    """

    def __init__(
        self,
        manager: DataParallelExecutorManager,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        optimizer: opt.Optimizer,
        kvstore: Any,
        update_on_kvstore: bool,
    ) -> None:
        self.manager = manager
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.kvstore = kvstore
        self.update_on_kvstore = update_on_kvstore
        manager.set_params(arg_params, aux_params)
        if update_on_kvstore:
            kvstore.set_optimizer(optimizer)
        self.updater = None if update_on_kvstore else opt.get_updater(optimizer)
        if kvstore:
            _initialize_kvstore(
                kvstore, manager.param_arrays, arg_params, manager.param_names, update_on_kvstore
            )

    def run(
        self,
        epochs: Sequence[int],
        epoch_size: int | None,
        train_data: Any,
        eval_data: Any,
        eval_metric: EvalMetric,
        callbacks: LoopCallbacks,
        logger: Any = None,
        monitor: Any = None,
    ) -> None:
        """Trains for these epochs.

        epoch_size
            batches in an epoch, which goes on where the one before it stopped; None: all.
        logger
            the logger of the epochs; the root logger by default.
        monitor
            monitors the training batches.
        """
        logger = logger or logging
        if monitor is not None:
            self.manager.install_monitor(monitor)
        train_data.reset()
        for epoch in epochs:
            start = time.time()
            eval_metric.reset()
            self._epoch(epoch, epoch_size, train_data, eval_metric, callbacks, logger, monitor)
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
            if callbacks.epoch_end or epoch == epochs[-1]:
                self.manager.copy_to(self.arg_params, self.aux_params)
            call_callbacks(
                callbacks.epoch_end, epoch, self.manager.symbol, self.arg_params, self.aux_params
            )
            if eval_data is not None:
                self._evaluate(epoch, eval_data, eval_metric, callbacks)

    def _epoch(
        self, epoch: int, epoch_size: int | None, data: Any, metric: EvalMetric,
        callbacks: LoopCallbacks, logger: Any, monitor: Any,
    ) -> None:  # fmt: skip
        nbatch = 0
        while True:
            for batch in data:
                self._step(batch, monitor)
                self.manager.update_metric(metric, batch.label)
                nbatch += 1
                self._notify(callbacks.batch_end, epoch, nbatch, metric, batch)
                if nbatch == epoch_size:
                    return
            logger.info("Epoch[%d] Resetting Data Iterator", epoch)
            data.reset()
            if epoch_size is None:
                return

    def _step(self, batch: Any, monitor: Any) -> None:
        manager = self.manager
        manager.load_data_batch(batch)
        if monitor is not None:
            monitor.tic()
        manager.forward(is_train=True)
        manager.backward()
        params, grads = manager.param_arrays, manager.grad_arrays
        if self.update_on_kvstore:
            _update_params_on_kvstore(params, grads, self.kvstore, manager.param_names)
        else:
            assert self.updater is not None
            _update_params(
                params, grads, self.updater, len(manager.ctx), self.kvstore, manager.param_names
            )
        if monitor is not None:
            monitor.toc_print()

    def _evaluate(
        self, epoch: int, data: Any, metric: EvalMetric, callbacks: LoopCallbacks
    ) -> None:
        metric.reset()
        data.reset()
        count = 0
        for batch in data:
            self.manager.load_data_batch(batch)
            self.manager.forward(is_train=False)
            self.manager.update_metric(metric, batch.label)
            self._notify(callbacks.eval_batch_end, epoch, count, metric, batch)
            count += 1
        self._notify(callbacks.eval_end, epoch, count, metric, None)
        data.reset()

    def _notify(self, callback: Any, epoch: int, nbatch: int, metric: Any, batch: Any) -> None:
        """Calls a batch callback. Its ``locals`` are the names given here, not the loop's."""
        if callback:
            variables = {
                "epoch": epoch, "nbatch": nbatch, "eval_metric": metric, "data_batch": batch,
                "executor_manager": self.manager, "kvstore": self.kvstore, "updater": self.updater,
                "symbol": self.manager.symbol,
            }  # fmt: skip
            call_callbacks(callback, BatchEndParam(epoch, nbatch, metric, variables))
