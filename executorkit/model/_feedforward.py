"""``FeedForward``: a network with its parameters, trained and used in one call each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import metric as metrics
from .. import optimizer as opt
from ..callback._report import LogValidationMetricsCallback
from ..errors import FeedForwardError, explain
from ..executor_manager import DataParallelExecutorManager
from ..initializer import Uniform
from ._callbacks import BatchEndParam, call_callbacks
from ._checkpoint import load_checkpoint, save_checkpoint
from ._inputs import RowCollector, evaluation_iterator, training_or_test_iterator
from ._network import Network, run_batch
from ._train import LoopCallbacks, TrainingLoop
from ._update import _create_kvstore


class FeedForward(Network):
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
        leaves out what the network does not have, instead of an error.

    As in MXNet a DeprecationWarning points to Module. Differently from MXNet, the class is no
    scikit-learn estimator, and predictions always use the parameters as they are now.
    """

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
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - it has no state
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
            where epochs are reported, what looks at the values, each device's share of a batch.

        Raises ValueError or TypeError for data that does not fit.
        """
        if self.num_epoch is None:
            raise FeedForwardError(explain("fit", "num_epoch is None, expected a number"))
        data: Any = training_or_test_iterator(X, y, self.numpy_batch_size, train=True)
        eval_data = evaluation_iterator(eval_data, self.numpy_batch_size)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._pred_exec = None
            self._check_symbol(self.symbol)
        symbol = self._symbol("fit")
        arg_names, param_names, aux_names = self._init_params(
            [*data.provide_data, *data.provide_label]
        )
        if not isinstance(eval_metric, metrics.EvalMetric):
            eval_metric = metrics.create(eval_metric)
        assert self.arg_params is not None
        assert self.aux_params is not None
        store, on_store = _create_kvstore(kvstore, len(self.ctx), self.arg_params)
        optimizer = self._make_optimizer(param_names, data.batch_size, store, on_store)
        manager = DataParallelExecutorManager(
            symbol, self.ctx, data, arg_names, param_names, aux_names,
            work_load_list, logger, self.sym_gen,
        )  # fmt: skip
        trainer = TrainingLoop(
            manager, self.arg_params, self.aux_params, optimizer, store, on_store
        )
        trainer.run(
            range(self.begin_epoch, self.num_epoch), self.epoch_size, data, eval_data, eval_metric,
            LoopCallbacks(
                epoch_end_callback, batch_end_callback, eval_end_callback, eval_batch_end_callback
            ),
            logger, monitor,
        )  # fmt: skip

    def predict(
        self,
        X: Any,  # noqa: N803
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """The outputs for all examples as a NumPy array, or a list of them if there are several.

        X
            an iterator or an array; rows that only fill up the last batch are left out.
        num_batch
            stops after so many batches.
        return_data
            returns (outputs, data, labels).
        reset
            begins at the iterator's first batch.
        """
        data: Any = training_or_test_iterator(X, None, self.numpy_batch_size, train=False)
        if reset:
            data.reset()
        executor = self._predictor(data)
        outputs = RowCollector(len(executor.outputs))
        inputs, labels = RowCollector(len(data.provide_data)), RowCollector(len(data.provide_label))
        for number, batch in enumerate(data, 1):
            run_batch(executor, data, batch)
            rows = data.batch_size - batch.pad
            outputs.add(executor.outputs, rows)
            if return_data:
                inputs.add(batch.data, rows)
                labels.add(batch.label, rows)
            if number == num_batch:
                break
        if not return_data:
            return outputs.whole()
        return outputs.whole(), inputs.whole(), labels.whole()

    def score(
        self,
        X: Any,  # noqa: N803
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric over an iterator's batches, at most ``num_batch`` of them.

        Rows that only fill up the last batch count, as in MXNet. A metric that is given as an
        object goes on from what it has seen.
        """
        metric = eval_metric
        if not isinstance(metric, metrics.EvalMetric):
            metric = metrics.create(metric)
        data: Any = training_or_test_iterator(X, None, self.numpy_batch_size, train=False)
        if reset:
            data.reset()
        executor = self._predictor(data)
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            run_batch(executor, data, batch)
            metric.update(batch.label, executor.outputs)
            if batch_end_callback:
                seen = {"self": self, "eval_metric": metric, "i": number, "batch": batch}
                call_callbacks(batch_end_callback, BatchEndParam(0, number, metric, seen))
        return metric.get()[1]

    def save(self, prefix: Any, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes a checkpoint (see :func:`save_checkpoint`), of ``num_epoch`` by default."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None or self.arg_params is None:
            what = "epoch" if epoch is None else "arg_params"
            raise FeedForwardError(explain("save", f"{what} is None"))
        symbol = self._symbol("save")
        save_checkpoint(
            prefix, epoch, symbol, self.arg_params, self.aux_params or {}, remove_amp_cast
        )

    @staticmethod
    def load(prefix: Any, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """The model in a checkpoint; ``fit`` goes on with epoch ``epoch``.

        ``kwargs`` are arguments of the class, or of the optimizer.
        """
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
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008 - it has no state
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model that is trained at once: the class's arguments and those of :meth:`fit`."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger,
            work_load_list, None, eval_end_callback, eval_batch_end_callback,
        )  # fmt: skip
        return model

    def _make_optimizer(self, names: list[str], rows: int, store: Any, on_store: bool) -> Any:
        """The optimizer that trains: indices are those that stores and updaters use."""
        count = 1 if on_store else len(self.ctx)
        index = {i * count + k: name for i, name in enumerate(names) for k in range(count)}
        optimizer = self.optimizer
        if isinstance(optimizer, str):
            if store and "dist" in store.type and "_async" not in store.type:
                rows *= store.num_workers
            options = {"rescale_grad": 1.0 / rows, **self.kwargs}
            return opt.create(optimizer, sym=self.symbol, param_idx2name=index, **options)
        if not isinstance(optimizer, opt.Optimizer):
            raise FeedForwardError(
                explain("fit: optimizer", f"{optimizer!r}, expected a name or an Optimizer")
            )
        if not optimizer.idx2name:
            optimizer.idx2name = index
        return optimizer
