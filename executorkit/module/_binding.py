"""A module's arrays: bound for the shapes of batches, and bound anew for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ndarray as nd
from ..context import Context, cpu
from ..display import Fold, Part
from ..errors import ModuleUsageError, explain
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from ..parallel._views import group_parts
from ..program._options import options_from_arguments
from ._usage import data_descs, require
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
