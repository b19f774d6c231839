"""A module's arrays: bound for the shapes of batches, and bound anew for others.

Files of a module: a checkpoint of the symbol, the parameters and the optimizer's states.

``Module``: a symbol, bound to devices, with parameters and an optimizer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Self

from .. import ndarray as nd
from ..context import Context, cpu
from ..debugging.finite_report import FiniteReport
from ..display import Fold, Part
from ..errors import ModuleUsageError, explain
from ..io import DataBatch, DataDesc
from ..model import load_checkpoint
from ..ndarray import NDArray
from ..parallel._group_view import group_parts
from ..program import Precompilation
from ..program._program_options import options_from_arguments
from ..symbol import Symbol
from ._optimizer_state import Optimizing
from ._preconditions import check_input_names, data_descs, require
from .base_module import BaseModule
from .executor_group import DataParallelExecutorGroup


class Bound(BaseModule):
    """A module on an executor group: binding, reshaping, and what can be asked of the group."""

    _context: list[Context]
    _work_load_list: list[Any]
    _group2ctxs: Any
    _compute_dtype: str | None
    _remat: Any
    _data_names: list[str]
    _label_names: list[str]
    _state_names: list[str]
    _param_names: list[str]
    _aux_names: list[str]
    _fixed_param_names: list[str]
    _data_shapes: list[DataDesc]
    _label_shapes: list[DataDesc] | None
    _arg_params: dict[str, NDArray] | None
    _aux_params: dict[str, NDArray] | None
    _params_dirty: bool
    _exec_group: DataParallelExecutorGroup

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Allocates the arrays for batches of these shapes.

        data_shapes, label_shapes
            lists of DataDesc or (name, shape), such as an iterator's ``provide_data``.
        for_training, inputs_need_grad
            whether gradients are wanted at all, and also those of the data.
        force_rebind
            binds anew if bound already, keeping the parameters; otherwise that is only logged.
        shared_module
            an initialised module whose parameters, gradients, states and optimizer are used:
            another bucket.
        grad_req
            'write', 'add' or 'null'; or a list or dict by argument.

        Raises ValueError if the names are not the module's, AssertionError for gradients of inputs
        of a module that is not for training, and for a shared module that is not initialised. The
        module is then as it was.
        """
        if self.binded and not force_rebind:
            self.logger.warning("bind: the module is bound already; nothing is done")
            return
        if inputs_need_grad and not for_training:
            raise ModuleUsageError(
                explain("bind", "inputs_need_grad is for training", hint="for_training=True")
            )
        data, labels = data_descs(
            self._data_names, self._label_names, data_shapes, label_shapes, "bind"
        )
        if shared_module is not None:
            _check_shared(shared_module, len(self._context))
        if self.binded and self._params_dirty:
            self._sync_params_from_devices()
        with options_from_arguments(self._compute_dtype, self._remat):
            group = DataParallelExecutorGroup(
                self._symbol,
                self._context,
                self._work_load_list,
                data,
                labels,
                self._param_names,
                for_training,
                inputs_need_grad,
                None if shared_module is None else shared_module._exec_group,
                logger=self.logger,
                fixed_param_names=self._fixed_param_names,
                grad_req=grad_req,
                state_names=self._state_names,
                group2ctxs=self._group2ctxs,
            )
        self._exec_group = group
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._data_shapes, self._label_shapes = data, labels
        self.binded = True
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params = shared_module._arg_params
            self._aux_params = shared_module._aux_params
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
            return
        if self.params_initialized:
            group.set_params(self._arg_params or {}, self._aux_params)
        self._arg_params = _completed(self._arg_params, self._param_names, group.param_arrays)
        self._aux_params = _completed(self._aux_params, self._aux_names, group.aux_arrays)

    def _parts(self) -> list[Part]:
        state = super()._parts()
        if self.binded:
            return [*state, *group_parts(self._exec_group._group)]
        return [*state, Fold("symbol", self._symbol._as_view().parts, open=True)]

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Binds for other shapes, keeping parameters and optimizer. Shapes that were bound before
        are not compiled again."""
        require(self, "reshape", "binded")
        self._reshape(
            *data_descs(self._data_names, self._label_names, data_shapes, label_shapes, "reshape")
        )

    def _reshape(self, data: list[DataDesc], labels: list[DataDesc] | None) -> None:
        self._exec_group.reshape(data, labels)
        self._data_shapes, self._label_shapes = data, labels

    def _fit_to(self, batch: Any, is_train: bool) -> None:
        """Reshapes for a batch of other shapes, or with labels that were left out before."""
        shapes = [tuple(array.shape) for array in batch.data]
        labels = getattr(batch, "label", None)
        unbound = is_train and self._label_shapes is None and labels and self._label_names
        if not unbound and shapes == [tuple(d.shape) for d in self._data_shapes]:
            return
        data = getattr(batch, "provide_data", None) or _reshaped(self._data_shapes, batch.data)
        described_labels = getattr(batch, "provide_label", None)
        if not described_labels and labels:
            known = self._label_shapes or [DataDesc(n, ()) for n in self._label_names]
            described_labels = _reshaped(known, labels)
        if described_labels:
            self.reshape(data, described_labels)
        else:
            # Without labels it is for inference, which needs none: nothing to warn of.
            self._reshape(data_descs(self._data_names, [], data, None, "forward")[0], None)

    def _reset_bind(self) -> None:
        """Forgets the group; parameters stay."""
        if self.binded and self._params_dirty:
            self._sync_params_from_devices()
        self.binded = False

    # Filled in by the themes below this one.

    def _sync_params_from_devices(self) -> None:
        raise self._not_provided("_sync_params_from_devices")

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Uses another module's optimizer, with its states."""
        raise self._not_provided("borrow_optimizer")


def concatenated_batches(batches: Sequence[Any]) -> DataBatch:
    """One batch of several, one for each device: AssertionError unless their shapes agree."""
    if not batches:
        raise ModuleUsageError(explain("forward", "the list of batches is empty"))
    for arrays in zip(*(batch.data for batch in batches), strict=False):
        shapes = [tuple(array.shape) for array in arrays]
        if len(set(shapes)) > 1:
            raise ModuleUsageError(
                explain("forward", f"batches of a list have different shapes: {shapes}")
            )
    labels = [batch.label for batch in batches]
    return DataBatch(_joined([b.data for b in batches]), _joined(labels) if all(labels) else None)


def _joined(lists: Sequence[Sequence[NDArray]]) -> list[NDArray]:
    return [
        nd.concatenate([a.as_in_context(arrays[0].context) for a in arrays])
        for arrays in zip(*lists, strict=True)
    ]


def _reshaped(known: Sequence[DataDesc], arrays: Sequence[Any]) -> list[DataDesc]:
    return [
        DataDesc(d.name, tuple(array.shape), d.dtype, d.layout)
        for d, array in zip(known, arrays, strict=False)
    ]


def _completed(
    params: dict[str, NDArray] | None, names: Sequence[str], arrays: Sequence[Any]
) -> dict[str, NDArray]:
    """Parameters by name, with zeros for those that are missing."""
    params = {} if params is None else params
    for name, members in zip(names, arrays, strict=True):
        if name not in params:
            params[name] = nd.zeros(members[0].shape, cpu(), dtype=members[0].dtype)
    return params


def _check_shared(module: Any, count: int) -> None:
    if not isinstance(module, Bound):
        problem = f"shared_module is a {type(module).__name__}, expected a Module"
        raise ModuleUsageError(explain("bind", problem))
    require(module, "bind: shared_module", "binded", "params_initialized")
    if len(module._context) < count:
        problem = f"shared_module is on {len(module._context)} devices, expected {count}"
        raise ModuleUsageError(explain("bind", problem))


class Checkpointed(Optimizing):
    """Saving and loading a module."""

    @classmethod
    def load(
        cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Self:
        """A module of ``<prefix>-symbol.json`` with the parameters of an epoch, to be bound.

        load_optimizer_states
            has ``init_optimizer`` read ``<prefix>-<epoch, four digits>.states``.
        kwargs
            what the module is made with besides.

        With the states and ``fit(begin_epoch=epoch)`` training goes on where it was saved, bit for
        bit on the CPU. Raises MXNetError if a file is missing or damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)  # type: ignore[call-arg]
        module._arg_params = arg_params
        module._aux_params = aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = _path(prefix, epoch, "states")
        return module

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Writes ``<prefix>-<epoch, four digits>.params``, ``.states`` if asked for, and
        ``<prefix>-symbol.json``, which all epochs share.

        Each file is there whole or not at all, and the shared one is written last: whenever the
        process is stopped, the checkpoints of earlier epochs are whole.
        """
        require(self, "save_checkpoint", "params_initialized")
        if save_optimizer_states:
            require(self, "save_checkpoint", "optimizer_initialized")
        params = _path(prefix, epoch, "params")
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = _path(prefix, epoch, "states")
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)


def _path(prefix: str, epoch: int, kind: str) -> str:
    return f"{prefix}-{int(epoch):04d}.{kind}"


__all__ = ["Module"]


class Module(Checkpointed):
    """A symbol that can be trained, on one device or several.

    symbol
        the network.
    data_names, label_names, state_names
        which of its arguments are inputs, labels, and states that are carried from batch to batch
        (``get_states``, ``set_states``); all others are parameters.
    logger
        where ``fit`` reports.
    context
        a device or a list of them; each gets its slice of every batch.
    work_load_list
        the devices' shares of a batch; equal by default.
    fixed_param_names
        parameters that are not trained.
    group2ctxs
        devices of ``ctx_group`` attributes, as the executor group takes them.
    compression_params
        accepted; gradients are not compressed.
    compute_dtype, remat
        precision of the computation, and what backward computes again instead of keeping it, as
        for ``simple_bind``; MXNet has neither.

    Raises ValueError for names that the symbol does not have (a warning for labels), AssertionError
    for another number of workloads than of devices.

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
        logger: Any = logging,
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
            raise ModuleUsageError(explain("Module: work_load_list", problem))
        self._group2ctxs = group2ctxs
        self._compute_dtype = compute_dtype
        self._remat = remat
        self._compression_params = compression_params
        self._symbol = symbol
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
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params = None
        self._aux_params = None
        self._params_dirty = False
        self._optimizer = None
        self._kvstore = None
        self._update_on_kvstore = False
        self._updater = None
        self._indices = {}
        self._preload_opt_states = None

    # Descriptions

    @property
    def data_names(self) -> list[str]:
        """Names of the inputs."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """DataDescs of the inputs. AssertionError unless bound, here and below."""
        require(self, "data_shapes", "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """DataDescs of the labels; None if bound without."""
        require(self, "label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of the outputs for the whole batch."""
        require(self, "output_shapes", "binded")
        return self._exec_group.get_output_shapes()

    # Running

    def precompile(self, shapes: Sequence[Any], is_train: bool | None = None) -> Precompilation:
        """Compiles ahead, in the background, for batches of other shapes.

        shapes
            for each of them (data_shapes, label_shapes), as :meth:`bind` takes them.
        is_train
            whether training steps are compiled, which ``bind``, by default, says. A step with its
            update is one program, known once one has run: warm up after the first ``update``.

        Returns at once; see :meth:`Executor.precompile` for what the result tells. A batch of one of
        these shapes compiles nothing more, or waits for its own compilation only. Raises
        AssertionError unless bound, ValueError for shapes that do not fit the symbol.
        """
        require(self, "warm", "binded")
        return self._exec_group.precompile(
            shapes, self.for_training if is_train is None else is_train
        )

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs, when they are looked at.

        data_batch
            a batch, or a list of batches of one shape, one for each device. Other shapes than bound
            rebind the module, as its ``provide_data`` and ``provide_label`` say if it has them.
        is_train
            by default, whether the module is bound for training.

        Raises AssertionError unless bound and initialised, ValueError for labels that do not fit,
        and for missing ones when training; nothing is changed then.
        """
        require(self, "forward", "binded", "params_initialized")
        batch = concatenated_batches(data_batch) if isinstance(data_batch, list) else data_batch
        train = self.for_training if is_train is None else bool(is_train)
        self._fit_to(batch, train)
        self._exec_group.forward(batch, train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients; ``out_grads`` are head gradients for outputs of no loss.

        AssertionError for a module that is bound for inference.
        """
        require(self, "backward", "binded", "params_initialized")
        self._exec_group.backward(out_grads=out_grads)

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch; see the group's.

        AssertionError unless bound and initialised.
        """
        require(self, "check_finite", "binded", "params_initialized")
        return self._exec_group.check_finite(out_grads, raise_error=raise_error)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward, of whole batches; or a list per output with one NDArray for
        each device."""
        require(self, "get_outputs", "binded", "params_initialized")
        return self._exec_group.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs, merged or not as in :meth:`get_outputs`. AssertionError unless
        bound with ``inputs_need_grad``."""
        require(self, "get_input_grads", "binded", "params_initialized")
        return self._exec_group.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """For each state a list with one NDArray for each device; AssertionError if they are to be
        merged."""
        require(self, "get_states", "binded", "params_initialized")
        return self._exec_group.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states: to arrays as :meth:`get_states` gives them (outputs, say, unmerged), or
        all elements to one number. AssertionError unless exactly one is given."""
        require(self, "set_states", "binded", "params_initialized")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric take the last outputs into account, device by device.

        ``pre_sliced`` says that ``labels`` has a list of labels for each device.
        """
        require(self, "update_metric", "binded")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at the executors of all devices."""
        require(self, "install_monitor", "binded")
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Nothing has to be done before a batch: parameters are dense. ``sparse_row_id_fn`` is not
        called, of which MXNet warns only for modules without store."""
        require(self, "prepare", "binded")
        super().prepare(data_batch, sparse_row_id_fn)
