"""The arrays of a module's group, as scripts read them.

The executor group that modules are built on, made from contexts, workloads and shapes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..debugging.finite_report import FiniteReport
from ..display import View, Viewed
from ..errors import BatchError, ModuleUsageError, explain
from ..executor import Executor
from ..executor._precompile_spec import PrecompileSpec
from ..io import DataDesc
from ..ndarray import NDArray
from ..parallel._batch_transfer import BatchInput, assign_scattered, gather
from ..parallel._data_parallel_core import DataParallelCore, update_metric
from ..parallel._group_parameters import mean_parameters, set_parameters
from ..parallel._group_snapshots import check_group_finite
from ..parallel._group_view import group_label, group_parts
from ..parallel._replicated_array import PerDevice
from ..parallel._slicing import split_input_slice
from ..program import Precompilation, current_options
from ..program._program_options import use_options
from ..symbol import Symbol
from ._group_arguments import (
    as_data_desc,
    batch_axes_and_size,
    grad_req_by_argument,
    group2ctxs_per_context,
    group_input,
)

Pairs = list[list[tuple[slice, NDArray]]]


class ArrayViews:
    """Lists of the arrays of all devices; nothing is split off before its contents are read."""

    _group: DataParallelCore
    _numbers: dict[str, int]
    _parameters: list[str]
    data_names: list[str]
    label_names: list[str]
    state_names: list[str]
    label_shapes: list[Any] | None
    slices: list[slice]
    contexts: list[Any]
    for_training: bool
    inputs_need_grad: bool

    @property
    def execs(self) -> list[Executor]:
        """One executor for each device."""
        return self._group.execs

    @property
    def data_arrays(self) -> Pairs:
        """For each data input, (slice, NDArray) of all devices."""
        return self._pairs(self.data_names)

    @property
    def label_arrays(self) -> Pairs | None:
        """For each label, (slice, NDArray) of all devices; None without label shapes."""
        return None if self.label_shapes is None else self._pairs(self.label_names)

    @property
    def state_arrays(self) -> list[list[NDArray]]:
        """For each state, the arrays of all devices."""
        return [list(self._arguments(name)) for name in self.state_names]

    @property
    def param_arrays(self) -> list[PerDevice]:
        """For each parameter, in the symbol's order, the arrays of all devices."""
        return [self._arguments(name) for name in self._parameters]

    @property
    def grad_arrays(self) -> list[Any] | None:
        """For each parameter the gradients of all devices, Nones without; None for inference."""
        if not self.for_training:
            return None
        nothing = [None] * len(self.contexts)
        return [self._gradients(name) or nothing for name in self._parameters]

    @property
    def aux_arrays(self) -> list[PerDevice]:
        """For each auxiliary state, the arrays of all devices."""
        return self._group.aux_arrays

    @property
    def input_grad_arrays(self) -> list[Any] | None:
        """For each data input the gradients of all devices; None without inputs_need_grad."""
        if not self.inputs_need_grad:
            return None
        nothing = [None] * len(self.contexts)
        return [list(self._gradients(name) or nothing) for name in self.data_names]

    def _pairs(self, names: Sequence[str]) -> Pairs:
        return [list(zip(self.slices, self._arguments(n), strict=True)) for n in names]

    def _arguments(self, name: str) -> PerDevice:
        return self._group.arg_arrays[self._numbers[name]]

    def _gradients(self, name: str) -> PerDevice | None:
        return self._group.grad_arrays[self._numbers[name]]


class DataParallelExecutorGroup(ArrayViews, Viewed):
    """Executors of one symbol on several devices, each with its slice of every batch.

    symbol
        the network.
    contexts
        the devices.
    workload
        a number for each device: its share of the batch. None for equal shares.
    data_shapes, label_shapes
        lists of DataDesc or (name, shape), for the whole batch, in the order of the batch's
        arrays; label_shapes may be None. A batch is divided along the 'N' of an input's layout.
    param_names
        names of the parameters.
    for_training
        whether gradients are wanted at all.
    inputs_need_grad
        whether those of the data are.
    shared_group
        a group of another bucket whose parameters, gradients and auxiliary states are used.
    fixed_param_names
        parameters without gradient.
    grad_req
        'write', 'add' or 'null' for all parameters (and data), a list for all arguments, or a dict
        for some of them.
    state_names
        data that is not of the batch but set by ``set_states``.
    group2ctxs
        for each context a dict from ``ctx_group`` to context; or one dict, for all of them or
        with a list of contexts for each group.

    Slices of one length on distinct devices run as one mapped program, and parameters are stacked
    over the devices; ``param_arrays`` and so on are views, made when a script looks at them.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = [1] * len(self.contexts) if workload is None else list(workload)
        self.param_names = list(param_names)
        self.arg_names = symbol.list_arguments()
        self._parameters = [n for n in self.arg_names if n in set(param_names)]
        self._numbers = {name: i for i, name in enumerate(self.arg_names)}
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.group2ctxs = group2ctxs_per_context(group2ctxs, len(self.contexts))
        attributes = symbol.attr_dict()
        self.output_layouts = [
            DataDesc.get_batch_axis(attributes.get(node.name, {}).get("__layout__"))
            for node, _ in symbol.heads
        ]
        data_names = [as_data_desc(d).name for d in data_shapes] if inputs_need_grad else []
        wanted = {*self.param_names, *data_names} - set(self.fixed_param_names)
        self.grad_req = grad_req_by_argument(grad_req, self.arg_names, wanted, for_training)
        self._options = current_options()
        self.bind_exec(data_shapes, label_shapes, shared_group)

    # Binding

    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """The batch axis of each input; sets ``batch_size`` and ``slices``.

        Raises ValueError for a batch that cannot be divided, AssertionError for inputs that differ
        in their number of rows.
        """
        axes, batch_size = batch_axes_and_size(data_shapes, None)
        self.slices = split_input_slice(batch_size, self.workload)
        self.batch_size = batch_size
        return axes

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Binds the symbol for these shapes; a failure leaves the group as it was.

        With ``reshape`` parameters and other arrays that keep their shape are those of now. A shape
        that was bound before, by whatever group of an equal symbol, is not compiled again.
        """
        data = [as_data_desc(d) for d in data_shapes]
        labels = [as_data_desc(d) for d in label_shapes or ()]
        data_axes, batch_size = batch_axes_and_size(data, None)
        label_axes, _ = batch_axes_and_size(labels, batch_size)
        slices = split_input_slice(batch_size, self.workload)
        data_inputs = [group_input(d, axis) for d, axis in zip(data, data_axes, strict=True)]
        label_inputs = [group_input(d, axis) for d, axis in zip(labels, label_axes, strict=True)]
        shared = self._group if reshape else shared_group._group if shared_group else None
        self._group = self._make_group(slices, [*data_inputs, *label_inputs], shared)
        self.slices = slices
        self.batch_size = batch_size
        self.data_shapes = data
        self.label_shapes = labels or None
        self.data_names = [d.name for d in data]
        self.label_names = [d.name for d in labels]
        self.data_layouts = data_axes
        self.label_layouts = label_axes
        self._data_inputs = data_inputs
        self._label_inputs = label_inputs

    def _make_group(
        self, slices: Sequence[slice], inputs: Sequence[BatchInput], shared: DataParallelCore | None
    ) -> DataParallelCore:
        with use_options(self._options):
            return DataParallelCore(
                self.symbol,
                self.contexts,
                slices,
                inputs,
                [self.grad_req[n] for n in self.arg_names],
                shared,
                self._parameters,
                self.group2ctxs,
            )

    def precompile(self, shapes: Sequence[Any], is_train: bool) -> Precompilation:
        """Compiles for other shapes in the background; see :meth:`Module.precompile`."""
        groups = {}
        for data_shapes, label_shapes in shapes:
            data = [as_data_desc(d) for d in data_shapes]
            labels = [as_data_desc(d) for d in label_shapes or ()]
            axes, rows = batch_axes_and_size(data, None)
            axes = [*axes, *batch_axes_and_size(labels, rows)[0]]
            inputs = [group_input(d, axis) for d, axis in zip((*data, *labels), axes, strict=True)]
            slices = split_input_slice(rows, self.workload)
            named = tuple((d.name, tuple(d.shape)) for d in (*data, *labels))
            groups[named] = self._make_group(slices, inputs, self._group)
        request = PrecompileSpec(is_train)
        return Precompilation({named: g.precompile(request) for named, g in groups.items()})

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Binds for other shapes, keeping the parameters. Equal shapes change nothing."""
        data = [as_data_desc(d) for d in data_shapes]
        labels = [as_data_desc(d) for d in label_shapes or ()] or None
        if data == self.data_shapes and labels == self.label_shapes:
            return
        self.bind_exec(data, labels, reshape=True)

    # Parameters

    def set_params(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copies parameters by name to all devices.

        Raises ValueError for unknown names, unless ``allow_extra``, and for wrong shapes; nothing
        is copied then.
        """
        set_parameters(self._group, arg_params, aux_params, allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Writes the means over the devices to NDArrays of the same names (KeyError without)."""
        mean_parameters(self._parameters, self.param_arrays, arg_params)
        mean_parameters(self.aux_names, self.aux_arrays, aux_params)

    # Running

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Loads a batch and runs all devices; ``is_train`` defaults to ``for_training``.

        data_batch
            a DataBatch, or anything with ``data`` and ``label``: lists of NDArrays or NumPy arrays
            of the bound shapes. Without labels those of the batch before are used again.

        Raises ValueError for a missing array or a wrong shape; nothing is changed then. (MXNet
        takes the first rows of a batch that is too long.)
        """
        train = self.for_training if is_train is None else is_train
        labels = getattr(data_batch, "label", None)
        writes = self._group.scattered(self._data_inputs, data_batch.data, "data")
        if self._label_inputs and labels:
            writes += self._group.scattered(self._label_inputs, labels, "label")
        for target, value in writes:
            assign_scattered(target, value)
        self._group.forward(bool(train))

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients on all devices.

        out_grads
            head gradients of the whole batch, an NDArray or a list; not needed for outputs of loss
            operators.

        Raises AssertionError if the group was not bound for training.
        """
        if not self.for_training:
            raise ModuleUsageError(
                explain(
                    "backward",
                    "the group is bound for inference",
                    hint="bind with for_training=True",
                )
            )
        if out_grads is None:
            self._group.backward()
            return
        heads = list(out_grads) if isinstance(out_grads, list | tuple) else [out_grads]
        self._group.backward(self._group.head_gradients(heads, self.output_layouts))

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """Outputs of the last forward from number ``begin`` to before ``end``.

        Merged: one NDArray per output, on the first device, of the whole batch. Otherwise a list
        per output with the arrays of all devices.
        """
        stop = self.num_outputs if end is None else end
        outputs = [self._group.outputs[i] for i in range(begin, stop)]
        axes = [self.output_layouts[i] for i in range(begin, stop)]
        return _merged(outputs, axes) if merge_multi_context else [list(o) for o in outputs]

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of each output for the whole batch."""
        found = []
        for name, output, axis in zip(
            self.output_names, self._group.outputs, self.output_layouts, strict=True
        ):
            shape = self._group.whole_shape(output, -1)
            if axis >= 0:
                shape = (*shape[:axis], self.batch_size, *shape[axis + 1 :])
            found.append((name, shape))
        return found

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """For each state the arrays of all devices. They are not merged: AssertionError."""
        if merge_multi_context:
            raise ModuleUsageError(
                explain(
                    "get_states",
                    "states are not merged",
                    hint="get_states(merge_multi_context=False)",
                )
            )
        return self.state_arrays

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the states: to arrays (for each state a list with one per device), or all elements
        to one number. AssertionError unless exactly one of the two is given."""
        if (states is None) == (value is None):
            raise ModuleUsageError(
                explain("set_states", "expected either states or value, and not both")
            )
        targets = [self._arguments(name) for name in self.state_names]
        if states is None:
            for target in targets:
                for array in target:
                    array[:] = value
            return
        writes = []
        for name, target, arrays in zip(self.state_names, targets, states, strict=False):
            if len(arrays) != len(target):
                raise BatchError(
                    explain(
                        f"set_states: {name!r}", f"{len(arrays)} arrays for {len(target)} devices"
                    )
                )
            for array, new in zip(target, arrays, strict=True):
                if new.shape != array.shape:
                    raise BatchError(
                        explain(
                            f"set_states: {name!r}", f"shape {new.shape}, expected {array.shape}"
                        )
                    )
                writes.append((array, new))
        for array, new in writes:
            new.copyto(array)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data, merged or per device as in ``get_outputs``. AssertionError
        without ``inputs_need_grad``."""
        if not self.inputs_need_grad:
            raise ModuleUsageError(
                explain(
                    "get_input_grads",
                    "the group is bound without gradients of its inputs",
                    hint="bind with inputs_need_grad=True",
                )
            )
        if not merge_multi_context:
            return self.input_grad_arrays or []
        grads = [self._gradients(name) for name in self.data_names]
        return _merged([g for g in grads if g is not None], self.data_layouts)

    def update_metric(self, eval_metric: Any, labels: Sequence[Any], pre_sliced: bool) -> None:
        """Has a metric take the outputs of each device into account, with its labels.

        ``pre_sliced`` says that ``labels`` has a list of labels for each device.
        """
        update_metric(
            self._group,
            labels,
            pre_sliced,
            self.label_layouts,
            lambda own, outputs: eval_metric.update_dict(
                dict(zip(self.label_names, own, strict=False)),
                dict(zip(self.output_names, outputs, strict=True)),
            ),
        )

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity, on any device.

        As :meth:`Executor.check_finite`, for every device's rows of the last batch; findings say
        whose they are. ``out_grads`` are head gradients of the whole batch, as ``backward`` takes
        them; by default those that were used last.
        """
        heads = None
        if out_grads is not None:
            given = list(out_grads) if isinstance(out_grads, list | tuple) else [out_grads]
            heads = self._group.head_gradients(given, self.output_layouts)
        return check_group_finite(self._group, heads, raise_error)

    def _as_view(self) -> View:
        return View(
            f"DataParallelExecutorGroup of {group_label(self._group)}", group_parts(self._group)
        )

    def install_monitor(self, mon: Any) -> None:
        """Installs a monitor on the executors of all devices."""
        for executor in self.execs:
            mon.install(executor)


def _merged(arrays: Sequence[PerDevice], axes: Sequence[int]) -> list[NDArray]:
    return [gather(a, axis) for a, axis in zip(arrays, axes, strict=True)]
