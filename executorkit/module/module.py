"""``Module``: a symbol, bound to devices, with parameters and an optimizer."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any, Self

from .. import ndarray as nd, processes
from .._support.annotations import Function, Logger
from ..context import Context, cpu
from ..errors import ModuleUsageError
from ..executor import PendingStep
from ..io import DataBatch, DataDesc
from ..metric import EvalMetric
from ..model import load_checkpoint
from ..ndarray import NDArray
from ..parallel import DataParallel, DataParallelCore
from ..program import Precompilation, options_from_arguments
from ..symbol import Symbol
from ._arguments import (
    Batch,
    BindSpec,
    BoundShapes,
    Descriptions,
    HeadGradients,
    ModuleOptions,
    OptimizerSpec,
    ParameterSpec,
    as_data_desc,
    check_batch,
    check_input_names,
    data_descs,
)
from ._delegation import attribute_of_part, delegates, require
from ._module_optimizer import ModuleOptimizer
from ._parameters import ParameterStore, Params
from .base_module import BaseModule
from .executor_group import DataParallelExecutorGroup

__all__ = ["Module"]


@delegates("_{}", BaseModule, "data_names", "output_names")
@delegates("_{}", BaseModule, "data_shapes", "label_shapes", states=["binded"])
@delegates("_exec_group.{}", BaseModule, "install_monitor", states=["binded"])
@delegates(
    "_exec_group.{}",
    BaseModule,
    *("check_finite", "get_outputs", "get_input_grads", "get_states", "set_states"),
    states=["binded", "params_initialized"],
)
class Module(BaseModule, DataParallel):
    """A symbol that can be trained, on one device or several.

    symbol
        the network.
    data_names, label_names, state_names
        names of its arguments that are inputs, labels, and states that are carried from batch to
        batch (``get_states``, ``set_states``); all others are parameters.
    logger
        the logger of ``fit``.
    context
        a device or a list of them; each gets its slice of every batch.
    work_load_list
        the devices' shares of a batch; equal by default.
    fixed_param_names
        parameters that are not trained.
    group2ctxs
        devices of ``ctx_group`` attributes, as the executor group takes them.
    compression_params
        passed to the key-value store's ``set_gradient_compression``.
    compute_dtype, remat
        precision and rematerialization, as for ``simple_bind``; not in MXNet.

    Raises ValueError for names that the symbol does not have (a warning for labels), AssertionError
    unless workloads and devices are equally many.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> x = mx.nd.array([[0, 1], [1, 0], [0, 2], [2, 0]])
    >>> batches = mx.io.NDArrayIter(x, mx.nd.array([0, 1, 0, 1]), batch_size=2)
    >>> module.fit(batches, num_epoch=20, optimizer_params={"learning_rate": 0.5})
    >>> module.score(batches, "acc")
    [('accuracy', 1.0)]
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        context = cpu() if context is None else context
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            problem = f"{len(self._work_load_list)} of them for {len(self._context)} contexts"
            raise ModuleUsageError("Module: work_load_list", problem)
        self._options = ModuleOptions(group2ctxs, compression_params, compute_dtype, remat)
        self._symbol: Symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        check_input_names(symbol, self._data_names, "data", True)
        check_input_names(symbol, self._label_names, "label", False)
        check_input_names(symbol, self._state_names, "state", True)
        check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        # None, as scripts test, until the module is bound.
        self._exec_group: DataParallelExecutorGroup = None  # type: ignore[assignment]
        self._grad_req: Any = None
        self._shapes = BoundShapes()
        self._parameters = ParameterStore()
        self._module_optimizer: ModuleOptimizer | None = None
        self._preload_opt_states: str | None = None

    # Files

    @classmethod
    def load(
        cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Self:
        """Returns a module of ``<prefix>-symbol.json`` with an epoch's parameters, to be bound.

        load_optimizer_states
            makes ``init_optimizer`` read ``<prefix>-<epoch, four digits>.states``.
        kwargs
            further arguments of the class.

        With the states and ``fit(begin_epoch=epoch)`` training continues bit for bit on the CPU.
        Raises MXNetError if a file is missing or damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)
        module.preset_params(arg_params, aux_params)
        if load_optimizer_states:
            module.preset_optimizer_states(_checkpoint_path(prefix, epoch, "states"))
        return module

    def preset_params(self, arg_params: Params, aux_params: Params) -> None:
        """Initialises the parameters before the module is bound, with these very arrays."""
        self._parameters = ParameterStore(arg_params, aux_params)
        self.params_initialized = True

    def preset_optimizer_states(self, fname: str) -> None:
        """Makes ``init_optimizer`` read a file of :meth:`save_optimizer_states`."""
        self._preload_opt_states = fname

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Writes ``<prefix>-<epoch, four digits>.params``, ``.states`` if asked for, and
        ``<prefix>-symbol.json``, which all epochs share. Each file appears whole or not at all, the
        shared one last: if the process is stopped, the checkpoints of earlier epochs are whole."""
        require(self, "save_checkpoint", "params_initialized")
        if save_optimizer_states:
            require(self, "save_checkpoint", "optimizer_initialized")
        params = _checkpoint_path(prefix, epoch, "params")
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = _checkpoint_path(prefix, epoch, "states")
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        processes.note_checkpoint(params)

    # Descriptions

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        require(self, "output_shapes", "binded")
        return self._exec_group.get_output_shapes()

    @property
    def core(self) -> DataParallelCore:
        """The arrays and programs of all devices, for training steps and views."""
        require(self, "core", "binded")
        return self._exec_group.core

    @property
    def output_layouts(self) -> list[int]:
        """The batch axis of each output, -1 without one."""
        require(self, "output_layouts", "binded")
        return self._exec_group.output_layouts

    # MXNet's names of the parts, which scripts use

    _optimizer = attribute_of_part("_module_optimizer", "optimizer")
    _kvstore = attribute_of_part("_module_optimizer", "kvstore")
    _updater = attribute_of_part("_module_optimizer", "updater")
    _update_on_kvstore = attribute_of_part("_module_optimizer", "update_on_kvstore", False)
    _arg_params = attribute_of_part("_parameters", "arg_params")
    _aux_params = attribute_of_part("_parameters", "aux_params")
    _params_dirty = attribute_of_part("_parameters", "stale")
    _data_shapes = attribute_of_part("_shapes", "data")
    _label_shapes = attribute_of_part("_shapes", "labels")
    _group2ctxs = attribute_of_part("_options", "group2ctxs")
    _compression_params = attribute_of_part("_options", "compression_params")

    @property
    def _output_names(self) -> list[str]:
        return self._symbol.list_outputs()

    @property
    def _aux_names(self) -> list[str]:
        return self._symbol.list_auxiliary_states()

    # Binding

    def _bind(self, spec: BindSpec) -> None:
        if spec.inputs_need_grad and not spec.for_training:
            problem = "inputs_need_grad is for training"
            raise ModuleUsageError("bind", problem, hint="for_training=True")
        data, labels = data_descs(
            self._data_names, self._label_names, spec.data_shapes, spec.label_shapes, "bind"
        )
        shared = spec.shared_module
        if shared is not None:
            _check_shared(shared, len(self._context))
        if self.binded:
            self._parameters.read(self._exec_group)
        options = self._options
        with options_from_arguments(options.compute_dtype, options.remat):
            group = DataParallelExecutorGroup(
                symbol=self._symbol,
                contexts=self._context,
                workload=self._work_load_list,
                data_shapes=data,
                label_shapes=labels,
                param_names=self._param_names,
                for_training=spec.for_training,
                inputs_need_grad=spec.inputs_need_grad,
                shared_group=None if shared is None else shared._exec_group,
                logger=self.logger,
                fixed_param_names=self._fixed_param_names,
                grad_req=spec.grad_req,
                state_names=self._state_names,
                group2ctxs=options.group2ctxs,
            )
        self._exec_group = group
        self._grad_req = spec.grad_req
        self.for_training = spec.for_training
        self.inputs_need_grad = spec.inputs_need_grad
        self._shapes = BoundShapes(data, labels)
        self.binded = True
        if shared is not None:
            self.params_initialized = True
            self._parameters = shared._parameters
            if shared.optimizer_initialized:
                self.borrow_optimizer(shared)
            return
        if self.params_initialized:
            self._parameters.write(group)
        self._parameters.add_missing(group)

    def _reset_bind(self) -> None:
        if self.binded:
            self._parameters.read(self._exec_group)
        self.binded = False
        self._exec_group = None  # type: ignore[assignment]
        self._grad_req = None
        self._shapes = BoundShapes()

    def _sync_params_from_devices(self) -> None:
        self._parameters.read(self._exec_group)

    def reshape(self, data_shapes: Descriptions, label_shapes: Descriptions | None = None) -> None:
        """Binds for other shapes, keeping all state; known shapes are not compiled again."""
        require(self, "reshape", "binded")
        names = self._data_names, self._label_names
        self._reshape(BoundShapes(*data_descs(*names, data_shapes, label_shapes, "reshape")))

    def _reshape(self, shapes: BoundShapes) -> None:
        self._exec_group.reshape(shapes.data, shapes.labels)
        self._shapes = shapes

    def _reshape_for(self, batch: Any, is_train: bool) -> None:
        shapes = [tuple(array.shape) for array in batch.data]
        labels = getattr(batch, "label", None)
        bound = self._shapes
        again = is_train and labels and bound.left_out is not None
        if not again and shapes == [tuple(d.shape) for d in bound.data]:
            return
        data = getattr(batch, "provide_data", None) or _reshaped(bound.data, batch.data)
        label_descs = getattr(batch, "provide_label", None)
        bound_labels = bound.labels or bound.left_out
        label_names = sorted(as_data_desc(d).name for d in label_descs or ())
        if bound_labels is None and label_names != sorted(self._label_names):
            label_descs = None  # bound without labels: batches' labels are ignored
        elif bound_labels and labels and not label_descs:
            label_descs = _reshaped(bound_labels, labels)
        if label_descs:
            self.reshape(data, label_descs)
        else:
            # Without labels it is for inference, which needs none: nothing to warn of.
            data, _ = data_descs(self._data_names, [], data, None, "forward")
            self._reshape(BoundShapes(data, None, left_out=bound_labels))

    def precompile(self, shapes: Sequence[Any], is_train: bool | None = None) -> Precompilation:
        """Compiles ahead, in the background, for batches of other shapes; see
        :meth:`Executor.precompile`.

        shapes
            for each of them (data_shapes, label_shapes), as :meth:`bind` takes them.
        is_train
            True compiles training steps, False inference; by default, as the module is bound. A
            step with its update is one program, known once one has run: precompile after the first
            ``update``.

        Raises AssertionError unless bound, ValueError for shapes that do not fit the symbol.
        """
        require(self, "precompile", "binded")
        train = self.for_training if is_train is None else is_train
        return self._exec_group.precompile(shapes, train)

    # Parameters

    def get_params(self) -> tuple[Params, Params]:
        """Returns parameters and auxiliary states by name, with present values, in host memory.

        The same two dicts each time; values written to them reach the devices by ``set_params``.
        Devices that differ (``kvstore=None``) give the mean.
        """
        require(self, "get_params", "params_initialized")
        if self._parameters.stale:
            self._parameters.read(self._exec_group)
        return self._parameters.arrays

    def _init_params(self, spec: ParameterSpec) -> None:
        if self.params_initialized and not spec.force_init:
            _warn_initialised("init_params")
            return
        require(self, "init_params", "binded")
        self._parameters.initialise(spec, self._symbol.attr_dict(), self._exec_group)
        self.params_initialized = True

    def _set_params(self, spec: ParameterSpec) -> None:
        if not spec.allow_missing:
            super()._set_params(spec)
            return
        if self.params_initialized and not spec.force_init:
            _warn_initialised("set_params")
            return
        require(self, "set_params", "binded")
        self._exec_group.set_params(spec.arg_params, spec.aux_params, allow_extra=spec.allow_extra)
        self._parameters.stale = True
        self.params_initialized = True

    # Optimizer

    def _init_optimizer(self, spec: OptimizerSpec) -> None:
        if self._keeps_optimizer(spec):
            return
        self._module_optimizer = ModuleOptimizer(
            spec, self._symbol, self._exec_group, self._parameters, self._options.compression_params
        )
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Uses another module's optimizer, states and counts; AssertionError without one."""
        require(shared_module, "borrow_optimizer", "optimizer_initialized")
        self._module_optimizer = shared_module._module_optimizer
        self.optimizer_initialized = True

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the optimizer's states to a file, which appears whole or not at all.

        MXNet reads such a file. In addition it has the number of updates of each parameter and the
        state of ``mx.random``, so that a run that loads it continues bit for bit.
        """
        require(self, "save_optimizer_states", "optimizer_initialized")
        assert self._module_optimizer is not None
        self._module_optimizer.save(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Reads the optimizer's states, counts and random state of :meth:`save_optimizer_states`.

        A file of MXNet's has no counts: they begin at 0. The file's module may have another number
        of devices, with or without a store (MXNet ignores it or fails): a device with states of its
        own takes the states of its number, or of the last one.
        """
        require(self, "load_optimizer_states", "optimizer_initialized")
        assert self._module_optimizer is not None
        self._module_optimizer.load(fname, self._context)

    # Running

    def forward(self, data_batch: Batch | Sequence[Batch], is_train: bool | None = None) -> None:
        """Defers the computation of the outputs.

        data_batch
            a batch, or a list of batches of one shape, one for each device. Other shapes than bound
            rebind the module, as ``provide_data`` and ``provide_label`` say if the batch has them.
            A module that was bound without labels ignores a batch's labels.
        is_train
            by default, True if the module is bound for training.

        Raises AssertionError unless bound and initialised, ValueError for labels that do not fit,
        and for missing ones when training; nothing is changed then.
        """
        require(self, "forward", "binded", "params_initialized")
        batch = concatenated_batches(data_batch) if isinstance(data_batch, list) else data_batch
        train = self.for_training if is_train is None else bool(is_train)
        check_batch(batch)
        self._reshape_for(batch, train)
        core = self._exec_group.core
        if self._module_optimizer is not None:
            core.join_processes(self._module_optimizer.joins_processes)
        self._exec_group.forward(batch, train)

    def backward(self, out_grads: HeadGradients = None) -> None:
        require(self, "backward", "binded", "params_initialized")
        self._exec_group.backward(out_grads=out_grads)

    def update(self) -> None:
        require(self, "update", "binded", "params_initialized", "optimizer_initialized")
        assert self._module_optimizer is not None
        self._parameters.stale = True
        self._module_optimizer.update(self._exec_group)

    def set_keep_gradients(self, keep: bool) -> None:
        if self._module_optimizer is not None:
            self._module_optimizer.set_keep_gradients(keep)

    @property
    def n_updates(self) -> int:
        return 0 if self._module_optimizer is None else self._module_optimizer.n_updates

    def last_steps(self) -> list[PendingStep]:
        return self._exec_group.core.last_steps() if self.binded else []

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        require(self, "update_metric", "binded", "params_initialized")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def prepare(self, data_batch: Batch, sparse_row_id_fn: Function | None = None) -> None:
        require(self, "prepare", "binded")
        super().prepare(data_batch, sparse_row_id_fn)


def concatenated_batches(batches: Sequence[Any]) -> DataBatch:
    """Concatenates batches, one for each device: AssertionError unless their shapes agree."""
    if not batches:
        raise ModuleUsageError("forward", "the list of batches is empty")
    for batch in batches:
        check_batch(batch)
    for arrays in zip(*(batch.data for batch in batches), strict=False):
        shapes = [tuple(array.shape) for array in arrays]
        if len(set(shapes)) > 1:
            raise ModuleUsageError("forward", f"batches of a list have different shapes: {shapes}")
    labels = [batch.label for batch in batches]
    data = _concatenated([b.data for b in batches])
    return DataBatch(data, _concatenated(labels) if all(labels) else None)


def _concatenated(lists: Sequence[Sequence[NDArray]]) -> list[NDArray]:
    rows = zip(*lists, strict=True)
    return [nd.concatenate([a.as_in_context(row[0].context) for a in row]) for row in rows]


def _reshaped(descs: Sequence[DataDesc], arrays: Sequence[Any]) -> list[DataDesc]:
    pairs = zip(descs, arrays, strict=False)
    return [DataDesc(d.name, tuple(array.shape), d.dtype, d.layout) for d, array in pairs]


def _check_shared(module: Any, count: int) -> None:
    if not isinstance(module, Module):
        problem = f"shared_module is a {type(module).__name__}, expected a Module"
        raise ModuleUsageError("bind", problem)
    require(module, "bind: shared_module", "binded", "params_initialized")
    if len(module._context) < count:
        problem = f"shared_module is on {len(module._context)} devices, expected {count}"
        raise ModuleUsageError("bind", problem)


def _warn_initialised(method: str) -> None:
    warnings.warn(
        f"{method}: the parameters are initialised already; nothing is done (force_init=True does)",
        UserWarning,
        stacklevel=4,
    )


def _checkpoint_path(prefix: str, epoch: int, kind: str) -> str:
    return f"{prefix}-{int(epoch):04d}.{kind}"
