"""``mx.executor_manager``: the manager and the group of MXNet's classic training loop.

    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol, [mx.cpu(0), mx.cpu(1)], train_data, arg_names, param_names, aux_names
    )
    manager.set_params(arg_params, aux_params)
    for batch in train_data:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        for i, (weights, grads) in enumerate(zip(manager.param_arrays, manager.grad_arrays)):
            ...                                  # one NDArray per device in each
        manager.update_metric(metric, batch.label)
    manager.copy_to(arg_params, aux_params)

Several processes run the same script, each with its own contexts and its own part of the data. A
``dist_sync`` store joins them (see :mod:`executorkit.kvstore`) and sums their gradients:
``store.pushpull(names, manager.grad_arrays, out=manager.param_arrays)``, all keys in one message.
``executorkit.parallel.all_reduce(manager.grad_arrays)`` gives every device the sums without a
store. Each process has to make these calls in turn; all others, such as ``copy_to``, are local.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context import Context
from .debugging import FiniteReport
from .display import Line, View, Viewed, brief, view_of
from .errors import BatchError, BatchTypeError, NotSupportedError
from .executor import (
    load_arrays as _load_general,  # noqa: F401 - MXNet's name
    load_data as _load_data,  # noqa: F401
    load_label as _load_label,  # noqa: F401
)
from .ndarray import NDArray
from .parallel import (
    DataParallel,
    DataParallelCore,
    DataParallelExecutorGroup,
    PerDevice,
    check_arguments as _check_arguments,  # noqa: F401 - MXNet's name
    group_label,
    group_parts,
    mean_parameters,
    replica_contexts,
    replica_workloads,
    set_parameters,
    split_input_slice as _split_input_slice,
)
from .program import current_options
from .symbol import Symbol

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


class DataParallelExecutorManager(Viewed, DataParallel):
    """Runs a symbol, or the symbols of many buckets, on several devices. Raises ValueError if the
    batch cannot be divided over the devices.

    symbol, ctx, arg_names, param_names, aux_names
        the network (of the largest bucket), the devices, and the network's names.
    train_data
        an iterator with ``batch_size``, ``provide_data`` and ``provide_label``; with ``sym_gen``
        also ``default_bucket_key``.
    work_load_list
        each device's share of the batch; equal shares by default.
    logger
        logger of the contexts; the root logger by default.
    sym_gen
        a function from a batch's ``bucket_key`` to the symbol for it. Buckets share parameters,
        gradients and auxiliary states; each is bound when its first batch comes, and compiles once.
        A bucket may be smaller than the default (MXNet refuses that).
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: logging.Logger | None = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ) -> None:
        logger = logger or logging.getLogger()
        logger.info("Start training with %s", list(ctx))
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        if not isinstance(loads, list) or len(loads) != len(ctx):
            problem = f"{loads!r}, expected a list of {len(ctx)} numbers"
            because = f"the contexts are {list(ctx)}"
            raise BatchError("manager: work_load_list", problem, because=because)
        width = current_options().model_parallel
        self.ctx = replica_contexts(ctx, width)
        self.slices = _split_input_slice(train_data.batch_size, replica_workloads(loads, width))
        self.arg_names = arg_names
        self.param_names = param_names
        self.aux_names = aux_names
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.execgrp = DataParallelExecutorGroup(
            symbol, arg_names, param_names, self.ctx, self.slices, train_data
        )
        self.curr_execgrp: DataParallelExecutorGroup | None = None
        self.execgrp_bucket: dict[Any, DataParallelExecutorGroup] = {}
        if sym_gen is not None:
            self.execgrp_bucket[train_data.default_bucket_key] = self.execgrp

    def __repr__(self) -> str:
        return brief(self, f"of {self.symbol.name or 'a group of symbols'}", self.core.phrases)

    def install_monitor(self, monitor: Any) -> None:
        """Installs a monitor on the executors of all devices; NotImplementedError with buckets."""
        if self.sym_gen is not None:
            raise NotSupportedError("install_monitor", "a manager with buckets takes no monitor")
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(
        self, arg_params: Mapping[str, object], aux_params: Mapping[str, Any] | None
    ) -> None:
        """Copies parameters by name to all devices. ValueError for unknown names and wrong
        shapes; nothing is copied then."""
        set_parameters(self.execgrp.core, arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Writes the means over the devices to NDArrays of the same names (KeyError for others)."""
        mean_parameters(self.execgrp.param_names, self.param_arrays, arg_params)
        mean_parameters(self.aux_names, self.aux_arrays, aux_params)

    @property
    def param_arrays(self) -> list[PerDevice]:
        """For each parameter the arrays of all devices; all buckets share them."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[PerDevice | None]:
        """For each parameter the gradients of all devices; all buckets share them."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[PerDevice]:
        """For each auxiliary state the arrays of all devices; all buckets share them."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: object) -> None:
        """Copies a batch to the devices, and makes its bucket the current one. Raises ValueError,
        naming the array, if one is missing or of the wrong shape; nothing is changed then."""
        group = self.execgrp if self.sym_gen is None else self._bucket(data_batch)
        group.load_data_batch(data_batch)
        self.curr_execgrp = group

    def _bucket(self, data_batch: Any) -> DataParallelExecutorGroup:
        key = data_batch.bucket_key
        if key not in self.execgrp_bucket:
            assert self.sym_gen is not None
            self.execgrp_bucket[key] = DataParallelExecutorGroup(
                self.sym_gen(key),
                self.arg_names,
                self.param_names,
                self.ctx,
                self.slices,
                data_batch,
                shared_group=self.execgrp,
            )
        return self.execgrp_bucket[key]

    def forward(self, is_train: bool = False) -> None:
        """Runs the current bucket on all devices."""
        self._current("forward").forward(is_train)

    def backward(self) -> None:
        """Computes the gradients of the current bucket on all devices."""
        self._current("backward").backward()

    def update_metric(
        self, metric: object, labels: Sequence[object], pre_sliced: bool = False
    ) -> None:
        """Updates a metric with the current bucket's outputs; see the group's."""
        self._current("update_metric").update_metric(metric, labels, pre_sliced)

    def check_finite(self, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node of the current bucket that made a NaN or an infinity, on any device;
        see the group's."""
        return (self.curr_execgrp or self.execgrp).check_finite(raise_error=raise_error)

    @property
    def core(self) -> DataParallelCore:
        """The arrays and programs of the current bucket on all devices."""
        return (self.curr_execgrp or self.execgrp).core

    def _current(self, method: str) -> DataParallelExecutorGroup:
        if self.curr_execgrp is None:
            problem = "no batch is loaded"
            raise BatchTypeError(method, problem, hint="call load_data_batch(batch) first")
        return self.curr_execgrp


@view_of.register
def _view_of_manager(manager: DataParallelExecutorManager) -> View:
    core = manager.core
    buckets = ", ".join(map(str, manager.execgrp_bucket))
    lines = [Line(f"bound buckets: {buckets}")] if buckets else []
    return View(f"DataParallelExecutorManager of {group_label(core)}", [*lines, *group_parts(core)])
