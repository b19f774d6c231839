"""``FeedForward``: a network with its parameters, trained and used in one call each."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metric as metrics, ndarray as nd, optimizer as opt
from ..context import Context, cpu
from ..errors import BatchError, DataArgumentError, FeedForwardError
from ..executor import Executor
from ..executor_manager import DataParallelExecutorManager, _check_arguments, _load_data
from ..initializer import Uniform
from ..io import DataDesc, DataIter, NDArrayIter
from ..kvstore import Aggregation
from ..ndarray import NDArray
from ..parallel import replica_contexts, share_first, update_parameters
from ..program import current_options, options
from ..symbol import Symbol
from ._checkpoint_files import FilePath, load_checkpoint, save_checkpoint
from ._kvstore_update import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _with_gradients,
)
from ._training_loop import (
    BatchEndParam,
    FitSpec,
    LogValidationMetricsCallback,
    TrainingLoop,
    callback_list,
)

Params = Mapping[str, NDArray]


class FeedForward:
    """A network of one input and one label, with its parameters: MXNet's first training interface.

    symbol
        the network, or a function from an iterator's ``default_bucket_key``, and from each batch's
        ``bucket_key``, to the network for it.
    ctx
        the devices, ``cpu()`` by default; predictions use the first.
    num_epoch, begin_epoch
        ``fit`` trains the epochs ``begin_epoch`` to ``num_epoch - 1``.
    epoch_size
        batches in an epoch; by default, all that the iterator has.
    optimizer
        by name, with ``kwargs`` as its arguments and ``rescale_grad = 1 / batch size``, or an
        Optimizer, which is used as it is.
    initializer
        called with the name and the array of each parameter that is not in ``arg_params``.
    numpy_batch_size
        rows in a batch when data comes as arrays.
    arg_params, aux_params
        parameters and auxiliary states by name.
    allow_extra_params
        ignores parameters that the network does not have, instead of raising an error.

    As in MXNet a DeprecationWarning points to Module. Unlike in MXNet, the class is not a
    scikit-learn estimator, and predictions always use the present values of the parameters.
    """

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: str | opt.Optimizer = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - it has no state
        numpy_batch_size: int = 128,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "FeedForward is deprecated, as it is in MXNet; use mod.Module instead",
            DeprecationWarning,
            stacklevel=2,
        )
        if not isinstance(symbol, Symbol) and not callable(symbol):
            problem = f"a {type(symbol).__name__}, expected a Symbol or function"
            raise FeedForwardError("FeedForward", problem)
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.argument_checked = self.symbol is not None
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        self.ctx = [cpu()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = dict(kwargs)
        self._pred_exec: Executor | None = None
        if self.symbol is not None:
            self._check_symbol(self.symbol)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def fit(
        self,
        X: Any,  # noqa: N803 - MXNet's name, here and below
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - no state
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Trains the network; its parameters are in ``arg_params`` and ``aux_params`` afterwards.

        X, y
            an iterator; or arrays, one example per row and one label each, which are shuffled.
        eval_data
            an iterator, or (data, labels): evaluated after each epoch.
        eval_metric
            a metric, its name, or a function of labels and predictions.
        epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
            functions or lists of them; see :mod:`executorkit.callback`. Batches count from 1.
        kvstore
            a store, its name or None; see :mod:`executorkit.kvstore`.
        logger, monitor, work_load_list
            the logger of epochs, the monitor of the values, each device's share of a batch.

        Raises ValueError or TypeError for data that does not fit.
        """
        if self.num_epoch is None:
            raise FeedForwardError("fit", "num_epoch is None, expected a number")
        data: Any = _as_iterator(X, y, self.numpy_batch_size, train=True)
        eval_data = _evaluation_iterator(eval_data, self.numpy_batch_size)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._pred_exec = None
            self._check_symbol(self.symbol)
        symbol = self._symbol("fit")
        inputs = [*data.provide_data, *data.provide_label]
        arg_names, param_names, aux_names = self._init_params(inputs)
        if not isinstance(eval_metric, metrics.EvalMetric):
            eval_metric = metrics.create(eval_metric)
        assert self.arg_params is not None
        assert self.aux_params is not None
        n_devices = len(replica_contexts(self.ctx, current_options().model_parallel))
        store, update_on_kvstore = _create_kvstore(kvstore, n_devices, self.arg_params)
        count = 1 if update_on_kvstore else n_devices
        optimizer = self._make_optimizer(param_names, data.batch_size, store, count)
        _train_multi_device(
            symbol, self.ctx, arg_names, param_names, aux_names,
            arg_params=self.arg_params, aux_params=self.aux_params, begin_epoch=self.begin_epoch,
            end_epoch=self.num_epoch, epoch_size=self.epoch_size, optimizer=optimizer,
            kvstore=store, update_on_kvstore=update_on_kvstore, train_data=data,
            eval_data=eval_data, eval_metric=eval_metric, epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback, logger=logger, work_load_list=work_load_list,
            monitor=monitor, eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback, sym_gen=self.sym_gen,
        )  # fmt: skip

    def predict(
        self,
        X: Any,  # noqa: N803
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """Returns the outputs for all examples as a NumPy array, or a list if there are several.

        X
            an iterator or an array; rows that only fill the last batch are left out.
        num_batch
            maximum number of batches.
        return_data
            returns (outputs, data, labels).
        reset
            begins at the iterator's first batch.
        """
        data = _as_iterator(X, None, self.numpy_batch_size, train=False)
        collected: list[list[Any]] = []
        for number, (batch, outputs) in enumerate(self._predicted(data, reset), 1):
            rows = data.batch_size - batch.pad
            groups = (outputs, batch.data, batch.label) if return_data else (outputs,)
            collected.append([[a[0:rows].asnumpy() for a in arrays] for arrays in groups])
            if number == num_batch:
                break
        joined = [_concatenate_batches(list(group)) for group in zip(*collected, strict=True)]
        return tuple(joined) if return_data else joined[0]

    def score(
        self,
        X: Any,  # noqa: N803
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """Returns the value of ``eval_metric`` over the batches of ``X``, at most ``num_batch`` of
        them; an iterator is ``reset`` first. Rows that only fill the last batch count, as in MXNet.
        A metric that is given as an object goes on from its present value.
        ``batch_end_callback`` is a function, or a list of them, of each batch."""
        is_metric = isinstance(eval_metric, metrics.EvalMetric)
        metric = eval_metric if is_metric else metrics.create(eval_metric)
        data = _as_iterator(X, None, self.numpy_batch_size, train=False)
        for number, (batch, outputs) in enumerate(self._predicted(data, reset)):
            if number == num_batch:
                break
            metric.update(batch.label, outputs)
            variables = {"self": self, "eval_metric": metric, "i": number, "batch": batch}
            for callback in callback_list(batch_end_callback):
                callback(BatchEndParam(0, number, metric, variables))
        return metric.get()[1]

    def save(
        self, prefix: FilePath, epoch: int | None = None, remove_amp_cast: bool = True
    ) -> None:
        """Writes a checkpoint (see :func:`save_checkpoint`), of ``num_epoch`` by default."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None or self.arg_params is None:
            missing = "epoch" if epoch is None else "arg_params"
            raise FeedForwardError("save", f"{missing} is None")
        symbol, aux_params = self._symbol("save"), self.aux_params or {}
        save_checkpoint(prefix, epoch, symbol, self.arg_params, aux_params, remove_amp_cast)

    @staticmethod
    def load(prefix: FilePath, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """Returns the model of a checkpoint; ``fit`` goes on with epoch ``epoch``. ``kwargs`` are
        arguments of the class, or of the optimizer."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch,
            **kwargs,
        )  # fmt: skip

    @staticmethod
    def create(
        symbol: Any,
        X: Any,  # noqa: N803
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: str | opt.Optimizer = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - it has no state
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - no state
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Returns a model that has been trained. ``symbol``, ``ctx``, ``num_epoch``,
        ``epoch_size``, ``optimizer``, ``initializer`` and ``kwargs`` are arguments of the class,
        the others of :meth:`fit`."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback, kvstore=kvstore, logger=logger,
            work_load_list=work_load_list, eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return model

    def _symbol(self, method: str) -> Symbol:
        if self.symbol is None:
            raise FeedForwardError(method, "symbol is None", hint="fit first")
        return self.symbol

    def _check_symbol(self, symbol: Symbol) -> None:
        _check_arguments(symbol)
        if self.allow_extra_params:
            self.arg_params = _restricted_to(self.arg_params, symbol.list_arguments())
            self.aux_params = _restricted_to(self.aux_params, symbol.list_auxiliary_states())

    def _init_params(
        self, inputs: Sequence[Any], overwrite: bool = False
    ) -> tuple[list[str], list[str], list[str]]:
        """Gives the model all its parameters, with ``overwrite`` also new values of old ones;
        returns the names of arguments, parameters and auxiliary states."""
        symbol = self._symbol("_init_params")
        descs = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in inputs]
        arg_names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        arg_shapes, _, aux_shapes = symbol.infer_shape(**{d.name: d.shape for d in descs})
        arg_types, _, aux_types = symbol.infer_type(**{d.name: d.dtype for d in descs})
        if arg_shapes is None or arg_types is None:
            problem = "the shapes of the inputs do not determine the parameters' shapes"
            given_by = ", ".join(f"{d.name} {d.shape}" for d in descs)
            raise FeedForwardError("FeedForward", problem, given_by=given_by)
        input_names = {d.name for d in descs}
        args = {
            name: nd.zeros(shape, dtype=dtype)
            for name, shape, dtype in zip(arg_names, arg_shapes, arg_types, strict=True)
            if name not in input_names
        }
        aux = {
            name: nd.zeros(shape, dtype=dtype)
            for name, shape, dtype in zip(aux_names, aux_shapes or (), aux_types or (), strict=True)
        }
        for arrays, values in ((args, self.arg_params), (aux, self.aux_params)):
            for name, array in arrays.items():
                if values and name in values and not overwrite:
                    array[:] = values[name]
                else:
                    with warnings.catch_warnings():
                        # By name alone, as in MXNet: annotations of the variables do not count.
                        warnings.filterwarnings("ignore", r"initializer\(str, NDArray\)")
                        self.initializer(name, array)
        self.arg_params, self.aux_params = args, aux
        return arg_names, list(args), aux_names

    def _predictor(self, data: Any) -> Executor:
        symbol = self._symbol("predict")
        if self.arg_params is None:
            raise FeedForwardError("predict", "arg_params is None", hint="fit first")
        descs = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in data.provide_data]
        shapes = {name: a.shape for name, a in self.arg_params.items()}
        shapes.update({d.name: d.shape for d in descs})
        executor = self._pred_exec
        if executor is None or any(executor.arg_dict[n].shape != s for n, s in shapes.items()):
            types = {name: a.dtype for name, a in self.arg_params.items()}
            types.update({d.name: d.dtype for d in descs})
            with options(model_parallel=1):
                executor = symbol.simple_bind(
                    self.ctx[0], grad_req="null", type_dict=types, **shapes
                )
            self._pred_exec = executor
        executor.copy_params_from(self.arg_params, self.aux_params)
        return executor

    def _predicted(self, data: Any, reset: bool) -> Iterator[tuple[Any, list[NDArray]]]:
        if reset:
            data.reset()
        executor = self._predictor(data)
        inputs = [executor.arg_dict[d[0]] for d in data.provide_data]
        for batch in data:
            _load_data(batch, inputs)
            yield batch, executor.forward(is_train=False)

    def _make_optimizer(self, names: list[str], rows: int, store: Any, count: int) -> Any:
        index_names = {i * count + k: name for i, name in enumerate(names) for k in range(count)}
        optimizer = self.optimizer
        if isinstance(optimizer, str):
            if store and "dist" in store.type and "_async" not in store.type:
                rows *= store.num_workers
            options = {"rescale_grad": 1.0 / rows, **self.kwargs}
            return opt.create(optimizer, sym=self.symbol, param_idx2name=index_names, **options)
        if not isinstance(optimizer, opt.Optimizer):
            problem = f"{optimizer!r}, expected a name or an Optimizer"
            raise FeedForwardError("fit: optimizer", problem)
        if not optimizer.idx2name:
            optimizer.idx2name = {**index_names}
        return optimizer


def _train_multi_device(
    symbol: Symbol, ctx: Sequence[Context], arg_names: Sequence[str], param_names: Sequence[str],
    aux_names: Sequence[str], arg_params: Params, aux_params: Params, begin_epoch: int,
    end_epoch: int, epoch_size: int | None, optimizer: opt.Optimizer, kvstore: Any,
    update_on_kvstore: bool, train_data: Any, eval_data: Any = None, eval_metric: Any = None,
    epoch_end_callback: Any = None, batch_end_callback: Any = None, logger: Any = None,
    work_load_list: Sequence[float] | None = None, monitor: Any = None,
    eval_end_callback: Any = None, eval_batch_end_callback: Any = None, sym_gen: Any = None,
) -> None:  # fmt: skip
    manager = DataParallelExecutorManager(
        symbol, ctx, train_data, arg_names, param_names=param_names, aux_names=aux_names,
        work_load_list=work_load_list, logger=logger, sym_gen=sym_gen,
    )  # fmt: skip
    loop = _ManagerLoop(
        manager=manager,
        arg_params=arg_params,
        aux_params=aux_params,
        optimizer=optimizer,
        kvstore=kvstore,
        update_on_kvstore=update_on_kvstore,
        epoch_size=epoch_size,
        logger=logger or logging,
    )
    if monitor is not None:
        manager.install_monitor(monitor)
    spec = FitSpec(
        train_data=train_data,
        eval_data=eval_data,
        eval_metric=eval_metric,
        epoch_end_callback=epoch_end_callback,
        batch_end_callback=batch_end_callback,
        eval_end_callback=eval_end_callback,
        eval_batch_end_callback=eval_batch_end_callback,
        monitor=monitor,
        begin_epoch=begin_epoch,
        num_epoch=end_epoch,
        arg_params=arg_params,
        aux_params=aux_params,
    )
    train_data.reset()
    loop._run_epochs(spec)


@dataclass(eq=False)
class _ManagerLoop(TrainingLoop):
    """Trains a manager's network, through a key-value store or by an updater. With one device and
    no store, forward, backward and update are one compiled program; so they are over the devices of
    all processes with a store that sums over these. An epoch of ``epoch_size`` batches goes on
    where the one before it stopped."""

    _first_batch = 1

    manager: DataParallelExecutorManager
    arg_params: Params
    aux_params: Params
    optimizer: opt.Optimizer
    kvstore: Any
    update_on_kvstore: bool
    epoch_size: int | None
    logger: Any

    def __post_init__(self) -> None:
        manager, updates = self.manager, self.update_on_kvstore
        self.symbol = manager.symbol
        manager.set_params(self.arg_params, self.aux_params)
        self._joins_processes = updates and Aggregation.of(self.kvstore) is Aggregation.JOB
        if self._joins_processes:
            self.updater = opt.get_updater(self.optimizer)
            self.kvstore.set_updater(self.updater)  # scripts read its states
            share_first(manager.execgrp.core, manager.param_names)
            return
        if updates:
            self.kvstore.set_optimizer(self.optimizer)
        self.updater = None if updates else opt.get_updater(self.optimizer)
        if self.kvstore:
            params, names = manager.param_arrays, manager.param_names
            _initialize_kvstore(self.kvstore, params, self.arg_params, names, updates)

    def _batches(self, spec: FitSpec, epoch: int) -> Iterator[Any]:
        count = 0
        while True:
            for batch in spec.train_data:
                yield batch
                count += 1
                if count == self.epoch_size:
                    return
            self.logger.info("Epoch[%d] Resetting Data Iterator", epoch)
            spec.train_data.reset()
            if self.epoch_size is None:
                return

    def _train_batch(self, batch: Any) -> None:
        manager, store, names = self.manager, self.kvstore, self.manager.param_names
        manager.load_data_batch(batch)
        manager.core.join_processes(self._joins_processes)
        manager.forward(is_train=True)
        manager.backward()
        params, grads = manager.param_arrays, manager.grad_arrays
        if self._joins_processes:
            rows = _with_gradients(params, grads)
            update_parameters(
                manager.core, self.updater, [names[i] for i, _, _ in rows],
                weights=[row[2] for row in rows], grads=[row[1] for row in rows],
                all_processes=True,
            )  # fmt: skip
        elif self.updater is None:
            _update_params_on_kvstore(params, grads, store, names)
        else:
            _update_params(params, grads, self.updater, len(manager.ctx), store, names)

    def _update_metric(self, eval_metric: metrics.EvalMetric, batch: Any) -> None:
        self.manager.update_metric(eval_metric, batch.label)

    def _trained_params(self) -> tuple[Params, Params]:
        self.manager.copy_to(self.arg_params, self.aux_params)
        return self.arg_params, self.aux_params

    def _evaluate(self, spec: FitSpec, epoch: int) -> None:
        callbacks = spec.eval_batch_end_callback, spec.eval_end_callback
        data = spec.eval_data
        data.reset()
        self._score(self._forward_batches(data), spec.eval_metric, epoch, *callbacks, data)
        data.reset()

    def _forward_batches(self, data: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for nbatch, batch in enumerate(data):
            self.manager.load_data_batch(batch)
            self.manager.forward(is_train=False)
            yield nbatch, batch

    def _callback_variables(self) -> dict[str, Any]:
        return {
            "executor_manager": self.manager, "kvstore": self.kvstore, "updater": self.updater,
            "symbol": self.symbol,
        }  # fmt: skip


def _concatenate_batches(batches: Sequence[Sequence[np.ndarray]]) -> Any:
    arrays = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    return arrays[0] if len(arrays) == 1 else arrays


def _restricted_to(params: Params | None, names: Sequence[str]) -> Params | None:
    return params and {k: v for k, v in params.items() if k in names}


def _as_iterator(data: Any, labels: Any, rows: int, train: bool) -> DataIter:
    """Returns an iterator over data and labels; an iterator is returned unchanged. Batches have
    ``rows`` rows, or all of them; labels are (n,) or (n, 1), None for zeros. For training they are
    required, rows are shuffled by ``numpy.random``, and incomplete batches are carried over to the
    next epoch; otherwise the last batch is padded."""
    if isinstance(data, DataIter):
        return data
    if not isinstance(data, np.ndarray | NDArray):
        problem = f"a {type(data).__name__}, expected a DataIter, an NDArray or a NumPy array"
        raise DataArgumentError("X", problem)
    count = data.shape[0]
    if labels is None:
        if train:
            raise BatchError("y", "no labels are given, X is an array")
        labels = np.zeros(count)
    if not isinstance(labels, np.ndarray | NDArray):
        raise DataArgumentError("y", f"a {type(labels).__name__}, expected an array since X is one")
    if labels.shape[0] != count:
        raise BatchError("y", f"{labels.shape[0]} labels for {count} examples")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.reshape((-1,))
    if labels.ndim != 1:
        raise BatchError("y", f"shape {labels.shape}, expected ({count},)")
    rows = min(count, rows)
    if train:
        return NDArrayIter(data, labels, rows, shuffle=True, last_batch_handle="roll_over")
    return NDArrayIter(data, labels, rows)


def _evaluation_iterator(eval_data: Any, rows: int) -> DataIter | None:
    if eval_data is None or isinstance(eval_data, DataIter):
        return eval_data
    if not isinstance(eval_data, tuple | list) or len(eval_data) != 2:
        problem = f"a {type(eval_data).__name__}, expected a DataIter or a pair (data, labels)"
        raise DataArgumentError("eval_data", problem)
    data, labels = eval_data
    if data is None:
        raise BatchError("eval_data", "the data in the pair is None")
    if labels is None and isinstance(data, DataIter):
        return data
    data, labels = (np.array(a) if isinstance(a, list) else a for a in (data, labels))
    return _as_iterator(data, labels, rows, train=True)
