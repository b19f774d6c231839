"""``BaseModule``: the interface of all modules, and the training and evaluation built on it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isfunction
from typing import Any
from weakref import WeakSet

import numpy as np

from .. import metric, ndarray as nd
from .._support.annotations import Function, Logger
from .._support.keyword_arguments import CheckedKeywords
from ..base import _as_list as _as_list
from ..calls.rollback import Rollback
from ..debugging import FiniteReport
from ..display import Viewed, brief, brief_arrays
from ..errors import (
    DataArgumentError,
    EmptyIteratorError,
    FileFormatError,
    ModuleUsageError,
    NotSupportedError,
)
from ..executor import PendingStep
from ..initializer import Uniform
from ..io import DataBatch, DataDesc, DataIter
from ..kvstore import KVStore
from ..metric import EvalMetric
from ..model import FitSpec, Lookahead, TrainingLoop, parameter_entries
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..parallel import JointEpoch
from ..symbol import Symbol
from ._arguments import (
    Batch,
    BindSpec,
    Callbacks,
    Descriptions,
    GradientRequests,
    HeadGradients,
    Metric,
    NamedArrays,
    OptimizerParams,
    OptimizerSpec,
    ParameterSpec,
    check_input_names,
    check_iterator,
    data_descs,
)
from ._delegation import require, state_phrases

__all__ = ["BaseModule"]

Outputs = list[NDArray]

#: Modules that users write import this, `_as_list` and the function below from MXNet's file.
_check_input_names = check_input_names


def _parse_data_desc(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Descriptions,
    label_shapes: Descriptions | None,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    return data_descs(data_names, label_names, data_shapes, label_shapes, "bind")


class BaseModule(TrainingLoop, Viewed, CheckedKeywords):
    """A network that is bound, initialised, given an optimizer and trained, in this order.

    ``fit`` does all of it; ``score``, ``predict`` and ``iter_predict`` use the trained network. The
    steps can also be taken one by one::

        module.bind(data_shapes=iterator.provide_data, label_shapes=iterator.provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
        for batch in iterator:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)

    A step that is taken too early raises AssertionError (and MXNetError), with the step to take
    first. Subclasses provide the methods that raise NotImplementedError here. Instead of ``bind``,
    ``init_params``, ``set_params`` and ``init_optimizer`` they can provide the hooks ``_bind``,
    ``_init_params``, ``_set_params`` and ``_init_optimizer``, which take arguments as one object.

    binded, params_initialized, optimizer_initialized
        the steps that have been taken.
    for_training, inputs_need_grad
        the arguments of ``bind``.
    """

    #: Bytes that executors share, which MXNet counts and scripts print; not known here.
    _total_exec_bytes: int = 0

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None

    def _not_provided(self, method: str) -> NotSupportedError:
        problem = f"{type(self).__name__} does not have it"
        return NotSupportedError(method, problem, hint="define it in a subclass")

    # Descriptions

    def __repr__(self) -> str:
        phrases = state_phrases(self)
        if self.binded:
            described = (*self.data_shapes, *(self.label_shapes or ()))
            phrases += brief_arrays([(d[0], d[1]) for d in described])
        return brief(self, None, phrases)

    @property
    def symbol(self) -> Symbol | None:
        """The network; with bucketing the current bucket's, None for modules in Python."""
        return self._symbol

    @property
    def data_names(self) -> list[str]:
        """Names of the inputs."""
        raise self._not_provided("data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise self._not_provided("output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        """(name, shape) of the inputs, once bound."""
        raise self._not_provided("data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """(name, shape) of the labels, once bound; None without labels."""
        raise self._not_provided("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of the outputs for the whole batch, once bound."""
        raise self._not_provided("output_shapes")

    # Setting up

    def bind(
        self,
        data_shapes: Descriptions,
        label_shapes: Descriptions | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: GradientRequests = "write",
    ) -> None:
        """Allocates the arrays for batches of these shapes.

        data_shapes, label_shapes
            lists of DataDesc or (name, shape), such as an iterator's ``provide_data``.
        for_training, inputs_need_grad
            True to compute gradients, and gradients of the data too.
        force_rebind
            binds again, keeping the parameters; otherwise a second call is only logged.
        shared_module
            an initialised :class:`Module` whose parameters, gradients, states and optimizer are
            used, such as another bucket's. Only a :class:`Module` takes one.
        grad_req
            'write', 'add' or 'null'; or a list or dict by argument. Modules in Python take 'write'
            only.

        Raises ValueError (AssertionError for modules in Python) if the names are not the module's;
        AssertionError for gradients of inputs without training, an uninitialised shared module, and
        a chain that is empty or whose names and outputs differ in number. It is then unchanged.
        """
        if self.binded and not force_rebind:
            self.logger.warning("bind: the module is bound already; nothing is done")
            return
        spec = BindSpec(
            data_shapes=data_shapes, label_shapes=label_shapes, for_training=for_training,
            inputs_need_grad=inputs_need_grad, force_rebind=force_rebind,
            shared_module=shared_module, grad_req=grad_req,
        )  # fmt: skip
        self._bind(spec)

    def _bind(self, spec: BindSpec) -> None:
        raise self._not_provided("bind")

    def init_params(
        self,
        initializer: Function | None = Uniform(0.01),  # noqa: B008 - it has no state
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialises the parameters.

        initializer
            called with an InitDesc (name and attributes) and an NDArray to fill, for each parameter
            in the order of their names.
        arg_params, aux_params
            values by name, which are copied instead. Names that the module does not have are
            ignored.
        allow_missing
            initialises parameters that are not in these; without initializer they stay as they are.
        force_init
            initialises again; otherwise a second call does nothing (:class:`Module` warns).

        Raises AssertionError if the module is not bound and if two modules of a chain have a
        parameter of one name, RuntimeError for a missing parameter, MXNetError for a wrong shape;
        nothing is changed then.
        """
        self._init_params(
            ParameterSpec(
                initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
            )
        )

    def _init_params(self, spec: ParameterSpec) -> None:
        raise self._not_provided("init_params")

    def init_optimizer(
        self,
        kvstore: KVStore | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Creates the optimizer of ``update``: one for all buckets, one for each module of a chain.

        kvstore
            'local', 'device', 'dist_sync', ..., a store, or None. With a store, whatever its name,
            an update is one step by the sum of the gradients of all devices, which then have equal
            parameters; 'dist' stores sum over all processes too. Without a store each device takes
            a step by its own gradients. See :class:`executorkit.kvstore.Aggregation`.
        optimizer
            a name, or an Optimizer. Created by name, it divides gradients by the number of rows of
            a batch (of all processes, with a 'dist' store), unless ``optimizer_params`` has a
            ``rescale_grad``; an instance that does not gets a warning.
        optimizer_params
            arguments of the named optimizer: a dict or pairs.
        force_init
            replaces an optimizer; otherwise a second call is only logged.

        Raises AssertionError unless bound and initialised, ValueError for an unknown name,
        TypeError for a value of another type.
        """
        self._init_optimizer(OptimizerSpec(kvstore, optimizer, optimizer_params, force_init))

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        raise self._not_provided("init_optimizer")

    def _keeps_optimizer(self, spec: OptimizerSpec) -> bool:
        require(self, "init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not spec.force_init:
            self.logger.warning("init_optimizer: there is an optimizer already; nothing is done")
            return True
        return False

    def install_monitor(self, mon: Monitor) -> None:
        """Installs a monitor on all executors, including future buckets'."""
        raise self._not_provided("install_monitor")

    # Running

    def prepare(self, data_batch: Batch, sparse_row_id_fn: Function | None = None) -> None:
        """Prepares for the next batch; ``sparse_row_id_fn`` is not called."""
        if sparse_row_id_fn is not None:
            message = f"sparse_row_id_fn is not called by {type(self).__name__}"
            warnings.warn(message, UserWarning, stacklevel=2)

    def forward(self, data_batch: Batch | Sequence[Batch], is_train: bool | None = None) -> None:
        """Computes the outputs; ``is_train`` None means as the module is bound."""
        raise self._not_provided("forward")

    def backward(self, out_grads: HeadGradients = None) -> None:
        """Computes the gradients; outputs that are not losses need head gradients. AssertionError
        for a module that is bound for inference."""
        raise self._not_provided("backward")

    def forward_backward(self, data_batch: Batch | Sequence[Batch]) -> None:
        """Runs a training ``forward`` and ``backward``: with ``update`` they can be one program."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def update(self) -> None:
        """Updates the parameters by the gradients of the last backward."""
        raise self._not_provided("update")

    def check_finite(
        self, out_grads: HeadGradients = None, *, raise_error: bool = False
    ) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch; see
        :meth:`Executor.check_finite`. With several devices findings name the device's rows.

        out_grads
            head gradients, as ``backward`` takes them; by default the last ones.
        raise_error
            raises NotFiniteError (a FloatingPointError) if a value is not finite.
        """
        raise self._not_provided("check_finite")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the last outputs: whole batches, or a list per output with all devices'."""
        raise self._not_provided("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns gradients of the inputs, as :meth:`get_outputs` merged or not; None for an input
        with ``grad_req`` 'null'. AssertionError unless bound with ``inputs_need_grad``."""
        raise self._not_provided("get_input_grads")

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Updates a metric with the last outputs, device by device; with ``pre_sliced`` the labels
        come as a list for each device."""
        raise self._not_provided("update_metric")

    # Parameters and states

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters and auxiliary states by name, with their present values."""
        raise self._not_provided("get_params")

    def set_params(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states by name.

        allow_missing
            allows missing names; ValueError for unknown ones, unless ``allow_extra``. Otherwise all
            have to be present, and unknown names are ignored.
        """
        self._set_params(
            ParameterSpec(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
        )

    def _set_params(self, spec: ParameterSpec) -> None:
        self.init_params(**spec.keywords())

    def save_params(self, fname: str) -> None:
        """Writes the parameters to a file, which appears whole or not at all."""
        nd.save(fname, parameter_entries("save_params", *self.get_params()))

    def load_params(self, fname: str) -> None:
        """Sets the parameters to a file's. ValueError if it has entries of another kind."""
        params: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
        entries = nd.load(fname)
        for key, value in entries.items() if isinstance(entries, dict) else enumerate(entries):
            kind, _, name = str(key).partition(":")
            if kind not in params or not name:
                problem = f"an entry is called {key!r}, expected 'arg:<name>' or 'aux:<name>'"
                raise FileFormatError(f"load_params: {fname}", problem)
            params[kind][name] = value
        self.set_params(params["arg"], params["aux"])

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the states that are carried from batch to batch, none here: for each a list with
        one NDArray for each device. AssertionError if they are to be merged."""
        require(self, "get_states", "binded", "params_initialized")
        if merge_multi_context:
            problem = "states are not merged"
            hint = "get_states(merge_multi_context=False)"
            raise ModuleUsageError("get_states", problem, hint=hint)
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states: to arrays as of :meth:`get_states`, or all elements to one number.
        AssertionError unless exactly one is passed, and for states of a module without any."""
        require(self, "set_states", "binded", "params_initialized")
        if states or value:
            raise ModuleUsageError("set_states", f"{type(self).__name__} has no states")

    # Training

    def fit(
        self,
        train_data: DataIter,
        eval_data: DataIter | None = None,
        eval_metric: Metric = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: KVStore | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Function | None = Uniform(0.01),  # noqa: B008 - it has no state
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Metric | None = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: Function | None = None,
    ) -> None:
        """Trains on the batches of an iterator.

        train_data, eval_data
            iterators; the second is scored after each epoch.
        eval_metric, validation_metric
            their metrics (the same by default): a metric, a name, or a list of them.
        epoch_end_callback
            called with (epoch, symbol, arg_params, aux_params); here and below a list is taken too.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            called with a BatchEndParam after each batch, and after the evaluation. Its ``locals``
            are the module, the batch, most arguments and the param's other fields, by MXNet's
            names; ``arg_params`` and ``aux_params`` are those after the last epoch.
        kvstore, optimizer, optimizer_params
            as in :meth:`init_optimizer`.
        initializer, arg_params, aux_params, allow_missing, force_init
            as in :meth:`init_params`.
        force_rebind
            binds again if bound already.
        begin_epoch, num_epoch
            number of the first epoch, and of the epoch after the last.
        monitor
            installed, and printed after each batch.

        Gradients are not stored (reading one after ``fit`` is an error) with no monitor, and no
        callback except this package's.

        Progress is logged at level INFO, which Python shows after
        ``logging.basicConfig(level=logging.INFO)``. As ``batch_end_callback``,
        ``mx.callback.ProgressBar(batches)`` and ``mx.notebook.callback.LiveLearningCurve`` show it
        in notebooks and terminals. AssertionError without ``num_epoch``.
        """
        if num_epoch is None:
            raise ModuleUsageError("fit", "num_epoch is missing", hint="fit(num_epoch=10)")
        check_iterator(train_data, "fit: train_data")
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        spec = FitSpec(
            train_data=train_data,
            eval_data=eval_data,
            eval_metric=metric.create(eval_metric),
            validation_metric=eval_metric if validation_metric is None else validation_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            monitor=monitor,
            sparse_row_id_fn=sparse_row_id_fn,
            begin_epoch=begin_epoch,
            num_epoch=num_epoch,
            arg_params=arg_params,
            aux_params=aux_params,
        )
        self._run_epochs(spec)

    def _train_epoch(self, spec: FitSpec, epoch: int, steps: JointEpoch) -> list[tuple[str, Any]]:
        with self.discard_gradients(spec.observers):
            values = super()._train_epoch(spec, epoch, steps)
        if values is None:
            hint = "reset() an iterator first"
            raise EmptyIteratorError("fit: train_data", "it has no batch", hint=hint)
        return values

    def _look_ahead(self, spec: FitSpec, batches: Lookahead) -> list[tuple[str, Any]]:
        next_batch = batches.peek()
        if next_batch is None:
            return spec.eval_metric.get_global_name_value()
        self.prepare(next_batch, sparse_row_id_fn=spec.sparse_row_id_fn)
        return []

    def _update_metric(self, eval_metric: EvalMetric, batch: Batch) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [b.label for b in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def _trained_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        # Devices whose parameters differ (kvstore=None) go on with the mean, as it is saved.
        arg_params, aux_params = self.get_params()
        self.set_params(arg_params, aux_params)
        return arg_params, aux_params

    def _evaluate(self, spec: FitSpec, epoch: int) -> None:
        for name, value in self.score(
            spec.eval_data,
            spec.validation_metric,
            score_end_callback=spec.eval_end_callback,
            batch_end_callback=spec.eval_batch_end_callback,
            epoch=epoch,
        ):
            self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)

    def _end_epoch(self, spec: FitSpec) -> None:
        spec.train_data.reset()

    @contextmanager
    def discard_gradients(self, observers: Iterable[Any] = ()) -> Iterator[None]:
        """Discards the gradients of updates within a ``with`` block, to save memory, if all
        ``observers`` (callbacks and monitors) are this package's own. Reading one afterwards raises
        an error. Not in MXNet."""
        package = __name__.split(".")[0]
        homes = [o.__module__ if isfunction(o) else type(o).__module__ for o in observers]
        self.set_keep_gradients(any(home.split(".")[0] != package for home in homes))
        try:
            yield
        finally:
            self.set_keep_gradients(True)

    def set_keep_gradients(self, keep: bool) -> None:
        """Chooses whether updates store the gradients that they use. Not in MXNet."""

    def _train_batch(self, batch: Batch) -> None:
        """Runs forward, backward and update. After an exception parameters, states, counts and
        random streams are all as before the batch, or all as after it."""
        n_updates = self.n_updates
        # An old step holds the weights: they could not be updated in place.
        earlier = WeakSet(self.last_steps())

        def withdraw() -> None:
            for step in self.last_steps():
                if step not in earlier:
                    step.withdraw()

        with Rollback(lambda: self.n_updates != n_updates, streams=True) as rollback:
            rollback.add(withdraw)
            self.forward_backward(batch)
            self.update()

    @property
    def n_updates(self) -> int:
        """A number that changes with every ``update``; 0 without parameters. Not in MXNet."""
        return 0

    def last_steps(self) -> list[PendingStep]:
        """Returns the last step of each device, to give it up. Not in MXNet."""
        return []

    # Evaluation

    def score(
        self,
        eval_data: DataIter,
        eval_metric: Metric,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Function | None = None,
    ) -> list[tuple[str, float]]:
        """Returns (name, value) pairs of a metric over the batches of an iterator.

        eval_metric
            a metric, its name, or a list of them.
        num_batch
            maximum number of batches.
        batch_end_callback, score_end_callback
            functions, or lists of them, called with a BatchEndParam after each batch, and at the
            end, when its ``nbatch`` is the number of batches.
        reset
            begins at the first batch.
        epoch
            the epoch's number for the callbacks.

        Raises AssertionError unless bound and initialised.
        """
        require(self, "score", "binded", "params_initialized")
        eval_metric = metric.create(eval_metric)
        batches = self._forward_batches(eval_data, num_batch, reset, sparse_row_id_fn)
        callbacks = batch_end_callback, score_end_callback
        self._score(batches, eval_metric, epoch, *callbacks, eval_data)
        return eval_metric.get_name_value()

    def iter_predict(
        self,
        eval_data: DataIter,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Function | None = None,
    ) -> Iterator[tuple[Outputs, int, Batch]]:
        """Yields (outputs, number of the batch, batch) for at most ``num_batch`` batches of
        ``eval_data``, which is ``reset`` first; the outputs without padding rows (``pad``). The
        next batch overwrites them. ``sparse_row_id_fn`` is as in :meth:`fit`."""
        require(self, "iter_predict", "binded", "params_initialized")
        for nbatch, batch in self._forward_batches(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded_outputs(batch), nbatch, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """Returns outputs for an iterator, or for one array.

        eval_data
            an iterator; or an NDArray or NumPy array, which is one batch, and gives the first
            output. It is run for inference (in MXNet, as the module is bound).
        merge_batches
            concatenates the batches: an NDArray for a network with one output, else (or if
            ``always_output_list``) a list with one for each output. Otherwise a list of the
            batches' lists. Without any batch: an empty list.

        Raises ValueError if ``eval_data`` is of another type, AssertionError unless bound and
        initialised, and if batches to be merged differ in their number of outputs.
        """
        require(self, "predict", "binded", "params_initialized")
        if isinstance(eval_data, NDArray | np.ndarray):
            array = eval_data if isinstance(eval_data, NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            kind = type(eval_data).__name__
            raise DataArgumentError("predict", f"a {kind}, expected an NDArray or a DataIter")
        batches = [
            [output.copy() for output in self._unpadded_outputs(batch)]
            for _, batch in self._forward_batches(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        counts = sorted({len(outputs) for outputs in batches})
        if len(counts) > 1:
            problem = f"batches have {' and '.join(map(str, counts))} outputs"
            because = "buckets may differ in their number of outputs"
            raise ModuleUsageError("predict", problem, because=because, hint="merge_batches=False")
        merged = [nd.concatenate(list(arrays)) for arrays in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def _forward_batches(
        self, eval_data: Any, num_batch: int | None, reset: bool, sparse_row_id_fn: Any
    ) -> Iterator[tuple[int, Any]]:
        if reset:
            check_iterator(eval_data, "eval_data")
            eval_data.reset()
        for nbatch, batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield nbatch, batch

    def _unpadded_outputs(self, batch: Batch) -> Outputs:
        pad = getattr(batch, "pad", None) or 0
        outputs = self.get_outputs()
        return [o[0 : o.shape[0] - pad] for o in outputs] if pad else outputs
