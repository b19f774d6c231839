"""The executor group of modules, constructed from contexts, workloads and shapes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from .._support.annotations import Logger
from ..base import _as_list
from ..context import Context
from ..debugging import FiniteReport
from ..display import brief
from ..errors import BatchError, ModuleUsageError
from ..executor import Executor, PrecompileSpec
from ..io import DataDesc
from ..ndarray import NDArray
from ..parallel import (
    BatchInput,
    DataParallelCore,
    ExecutorGroup,
    PerDevice,
    assign_scattered,
    check_group_finite,
    gather,
    mean_parameters,
    options_with,
    replica_contexts,
    replica_workloads,
    set_parameters,
    split_input_slice,
    update_metric,
)
from ..program import Options, Precompilation, use_options
from ..symbol import Symbol
from ._arguments import as_data_desc, batch_inputs, grad_req_by_argument, group2ctxs_per_context

SlicePairs = list[list[tuple[slice, NDArray]]]


@dataclass(frozen=True, slots=True)
class GroupParameters:
    """Names, arrays and gradients of parameters on all devices, in the symbol's order."""

    names: list[str]
    arrays: list[Any]
    grads: list[Any]


class DataParallelExecutorGroup(ExecutorGroup):
    """Executors of one symbol on several devices, each with its slice of every batch.

    contexts
        the devices; of each replica the first, with ``model_parallel``.
    workload
        a number for each device: its share of the batch. None for equal shares.
    data_shapes, label_shapes
        lists of DataDesc or (name, shape), for the whole batch, in the order of the batch's arrays;
        label_shapes may be None. A batch is divided along the 'N' of an input's layout.
    for_training, inputs_need_grad
        True to compute gradients, and gradients of the data too.
    shared_group
        a group of another bucket whose parameters, gradients and auxiliary states are used.
    fixed_param_names
        parameters without gradient (inputs have theirs, even if they are named here).
    grad_req
        'write', 'add' or 'null' for all parameters (and data), a list for all arguments, or a dict
        for some of them.
    state_names
        inputs that are not in the batch but set by ``set_states``.
    group2ctxs
        for each context a dict from ``ctx_group`` to context; or one dict, for all of them or with
        a list of contexts for each group.

    Slices of equal length on distinct devices run as one pmapped program on replicated arrays; the
    NDArrays of single devices are split off when a script reads them. ``core`` has the arrays and
    programs of all devices.
    """

    #: Bytes that executors share, which MXNet counts and scripts print; not known here.
    _total_exec_bytes: int = 0

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
        logger: Logger = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        options = options_with(None if shared_group is None else shared_group.core)
        width = options.model_parallel
        self.contexts = replica_contexts(contexts, width)
        self.workload = replica_workloads(workload or [1] * len(contexts), width)
        self.param_names = list(param_names)
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.group2ctxs = group2ctxs_per_context(group2ctxs, len(self.contexts))
        attributes = symbol.attr_dict()
        layouts = [attributes.get(node.name, {}).get("__layout__") for node, _ in symbol.heads]
        self.output_layouts: list[int] = [DataDesc.get_batch_axis(layout) for layout in layouts]
        data_names = [as_data_desc(d).name for d in data_shapes] if inputs_need_grad else []
        differentiated = {*self.param_names} - {*self.fixed_param_names} | {*data_names}
        names = symbol.list_arguments()
        self.grad_req = grad_req_by_argument(grad_req, names, differentiated, for_training)
        shared = None if shared_group is None else shared_group.core
        self._bind(data_shapes, label_shapes, shared, options)
        self._sharing_groups: WeakSet[DataParallelExecutorGroup] = (
            WeakSet() if shared_group is None else shared_group._sharing_groups
        )
        self._sharing_groups.add(self)

    def __repr__(self) -> str:
        return brief(self, f"of {self.symbol.name or 'a group of symbols'}", self.core.phrases)

    # Binding

    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """Returns each input's batch axis; sets ``batch_size`` and ``slices``. ValueError for a
        batch that cannot be divided, AssertionError for inputs of different numbers of rows."""
        inputs, rows = batch_inputs(data_shapes, None)
        self.slices = split_input_slice(rows, self.workload)
        return [i.axis for i in inputs]

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Binds the symbol for these shapes; a failure leaves the group unchanged. With ``reshape``
        arrays that keep their shape stay the same arrays. Shapes that any group of an equal symbol
        has bound are not compiled again."""
        shared = self.core if reshape else shared_group.core if shared_group else None
        core = self.core
        self._bind(data_shapes, label_shapes, shared, core.options)
        if reshape:
            self.core.share_monitors(core)

    def _bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared: DataParallelCore | None,
        options: Options,
    ) -> None:
        data = [as_data_desc(d) for d in data_shapes]
        labels = [as_data_desc(d) for d in label_shapes or ()]
        data_inputs, batch_size = batch_inputs(data, None)
        label_inputs, _ = batch_inputs(labels, batch_size)
        slices = split_input_slice(batch_size, self.workload)
        self.core = self._make_core(slices, [*data_inputs, *label_inputs], shared, options)
        self.slices = slices
        self.data_shapes = data
        self.label_shapes = labels or None
        self.data_names = [d.name for d in data]
        parameters = set(self.param_names)
        names = [n for n in self.core.arg_names if n in parameters]
        gradients = [self._gradients(n) for n in names]
        none_per_device = [None] * len(self.contexts)
        grads: list[Any] = [g or none_per_device for g in gradients]
        self._parameters = GroupParameters(names, [self._arguments(n) for n in names], grads)
        rows = zip(names, self._parameters.arrays, gradients, strict=True)
        trained = [row for row in rows if row[2] is not None and self.for_training]
        self.trained = GroupParameters(
            [n for n, _, _ in trained], [a for _, a, _ in trained], [g for _, _, g in trained]
        )

    def _make_core(
        self,
        slices: Sequence[slice],
        inputs: Sequence[BatchInput],
        shared: DataParallelCore | None,
        options: Options,
    ) -> DataParallelCore:
        names = self.symbol.list_arguments()
        parameters = set(self.param_names)
        with use_options(options):
            return DataParallelCore(
                self.symbol,
                self.contexts,
                slices,
                inputs,
                grad_req=[self.grad_req[n] for n in names],
                shared=shared,
                shared_names=[n for n in names if n in parameters],
                group2ctxs=self.group2ctxs,
            )

    def precompile(self, shapes: Sequence[Any], is_train: bool) -> Precompilation:
        """Compiles for other shapes in the background; see :meth:`Module.precompile`."""
        cores = {}
        for data_shapes, label_shapes in shapes:
            inputs, rows = batch_inputs(data_shapes, None)
            inputs += batch_inputs(label_shapes or (), rows)[0]
            slices = split_input_slice(rows, self.workload)
            key = tuple((i.name, i.shape) for i in inputs)
            cores[key] = self._make_core(slices, inputs, self.core, self.core.options)
        spec = PrecompileSpec(is_train)
        return Precompilation({key: core.precompile(spec) for key, core in cores.items()})

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Binds for other shapes, keeping the parameters. Equal shapes change nothing."""
        data = [as_data_desc(d) for d in data_shapes]
        labels = [as_data_desc(d) for d in label_shapes or ()] or None
        if data == self.data_shapes and labels == self.label_shapes:
            return
        self.bind_exec(data, labels, reshape=True)

    # Names and layouts

    @property
    def batch_size(self) -> int:
        """The number of rows of a batch."""
        return self.slices[-1].stop

    @property
    def arg_names(self) -> list[str]:
        """Names of all arguments."""
        return list(self.core.arg_names)

    @property
    def aux_names(self) -> list[str]:
        """Names of the auxiliary states."""
        return list(self.core.aux_names)

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return list(self.core.output_names)

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.core.output_names)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return [d.name for d in self.label_shapes or ()]

    @property
    def data_layouts(self) -> list[int]:
        """The batch axis of each data input."""
        return [i.axis for i in self.core.inputs[: len(self.data_shapes)]]

    @property
    def label_layouts(self) -> list[int]:
        """The batch axis of each label."""
        return [i.axis for i in self.core.inputs[len(self.data_shapes) :]]

    # Arrays

    @property
    def execs(self) -> Sequence[Executor]:
        """One executor for each device."""
        return self.core.execs

    @property
    def shared_data_arrays(self) -> list[dict[str, NDArray]]:
        """For each device, the arguments that are not parameters by name, their gradients as ``grad
        of <name>``; of groups that share parameters, the largest of each name."""
        shared: list[dict[str, NDArray]] = [{} for _ in self.contexts]
        for group in (self, *self._sharing_groups):
            for name in group.arg_names:
                if name in group.param_names:
                    continue
                arrays = {name: group._arguments(name), f"grad of {name}": group._gradients(name)}
                for key, per_device in arrays.items():
                    for largest, array in zip(shared, per_device or (), strict=False):
                        if key not in largest or largest[key].size < array.size:
                            largest[key] = array
        return shared

    @property
    def label_arrays(self) -> SlicePairs | None:
        """For each label, (slice, NDArray) of all devices; None without label shapes."""
        return None if self.label_shapes is None else self._pairs(self.label_names)

    @property
    def state_arrays(self) -> list[list[NDArray]]:
        """For each state, the arrays of all devices."""
        return [list(self._arguments(name)) for name in self.state_names]

    @property
    def param_arrays(self) -> list[PerDevice]:
        """For each parameter, in the symbol's order, the arrays of all devices."""
        return self._parameters.arrays

    @property
    def grad_arrays(self) -> list[Any] | None:
        """For each parameter the gradients of all devices, Nones without; None for inference."""
        return self._parameters.grads if self.for_training else None

    @property
    def input_grad_arrays(self) -> list[Any] | None:
        """For each data input the gradients of all devices; None without inputs_need_grad."""
        if not self.inputs_need_grad:
            return None
        none_per_device = [None] * len(self.contexts)
        return [list(self._gradients(name) or none_per_device) for name in self.data_names]

    def _arguments(self, name: str) -> PerDevice:
        return self.core.arg_arrays[self.core.arg_names.index(name)]

    def _gradients(self, name: str) -> PerDevice | None:
        return self.core.grad_arrays[self.core.arg_names.index(name)]

    # Parameters

    def set_params(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copies parameters by name to all devices. ValueError for unknown names, unless
        ``allow_extra``, and for wrong shapes; nothing is copied then."""
        set_parameters(self.core, arg_params, aux_params, allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Writes the means over the devices to NDArrays of the same names (KeyError without)."""
        mean_parameters(self._parameters.names, self.param_arrays, arg_params)
        mean_parameters(self.aux_names, self.aux_arrays, aux_params)

    # Running

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Loads a batch and runs all devices; ``is_train`` defaults to ``for_training``.

        data_batch
            a DataBatch, or anything with ``data`` and ``label``: lists of NDArrays or NumPy arrays
            of the bound shapes. Missing labels, and states at the end of ``data_shapes``, keep
            their contents.

        Raises ValueError for a missing array or a wrong shape; nothing is changed then. (MXNet
        takes the first rows of a batch that is too long.)
        """
        train = self.for_training if is_train is None else is_train
        labels = getattr(data_batch, "label", None)
        inputs = self.core.inputs[: len(self.data_shapes)]
        while len(inputs) > len(data_batch.data) and inputs[-1].name in self.state_names:
            inputs = inputs[:-1]
        writes = self.core.scattered(inputs, data_batch.data, "data")
        label_inputs = self.core.inputs[len(self.data_shapes) :]
        if label_inputs and labels:
            writes += self.core.scattered(label_inputs, labels, "label")
        for target, value in writes:
            assign_scattered(target, value)
        self.core.forward(bool(train))

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients on all devices.

        ``out_grads`` are head gradients of the whole batch, an NDArray or a list; outputs of loss
        operators need none. AssertionError if the group was not bound for training.
        """
        if not self.for_training:
            problem = "the group is bound for inference"
            raise ModuleUsageError("backward", problem, hint="bind with for_training=True")
        self.core.backward(self._head_gradients(out_grads))

    def _head_gradients(self, out_grads: Any) -> list[PerDevice | None] | None:
        if out_grads is None:
            return None
        return self.core.head_gradients(_as_list(out_grads), self.output_layouts)

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """Returns outputs of the last forward from number ``begin`` to before ``end``: merged, the
        whole batch on the first device; otherwise a list per output of all devices' arrays."""
        outputs, axes = self.core.outputs, self.output_layouts
        numbers = range(begin, self.num_outputs if end is None else end)
        if merge_multi_context:
            return [gather(outputs[i], axes[i]) for i in numbers]
        return [list(outputs[i]) for i in numbers]

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Returns (name, shape) of each output for the whole batch."""
        shapes = []
        rows = zip(self.output_names, self.core.outputs, self.output_layouts, strict=True)
        for name, output, axis in rows:
            shape = self.core.whole_shape(output, -1)
            if axis >= 0:
                shape = (*shape[:axis], self.batch_size, *shape[axis + 1 :])
            shapes.append((name, shape))
        return shapes

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Returns for each state all devices' arrays; AssertionError for merged ones."""
        if merge_multi_context:
            hint = "get_states(merge_multi_context=False)"
            raise ModuleUsageError("get_states", "states are not merged", hint=hint)
        return self.state_arrays

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Sets the states: to arrays (for each state a list with one per device), or all elements
        to one number. AssertionError unless exactly one of the two is passed."""
        if (states is None) == (value is None):
            raise ModuleUsageError("set_states", "expected either states or value, and not both")
        targets = [self._arguments(name) for name in self.state_names]
        if states is None:
            for target in targets:
                for array in target:
                    array[:] = value
            return
        writes = []
        for name, target, arrays in zip(self.state_names, targets, states, strict=False):
            where = f"set_states: {name!r}"
            if len(arrays) != len(target):
                raise BatchError(where, f"{len(arrays)} arrays for {len(target)} devices")
            for array, new in zip(target, arrays, strict=True):
                if new.shape != array.shape:
                    raise BatchError(where, f"shape {new.shape}, expected {array.shape}")
                writes.append((array, new))
        for array, new in writes:
            new.copyto(array)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns gradients of the data, merged or per device as in ``get_outputs``; None (for each
        device) for one that is not computed, where MXNet fails to merge. AssertionError without
        ``inputs_need_grad``."""
        if not self.inputs_need_grad:
            problem = "the group is bound without gradients of its inputs"
            hint = "bind with inputs_need_grad=True"
            raise ModuleUsageError("get_input_grads", problem, hint=hint)
        if not merge_multi_context:
            return self.input_grad_arrays or []
        return [
            None if (grads := self._gradients(name)) is None else gather(grads, axis)
            for name, axis in zip(self.data_names, self.data_layouts, strict=True)
        ]

    def update_metric(self, eval_metric: Any, labels: Sequence[Any], pre_sliced: bool) -> None:
        """Updates a metric with each device's outputs and labels; with ``pre_sliced`` the labels
        come as a list for each device."""
        update_metric(
            self.core,
            labels,
            pre_sliced,
            self.label_layouts,
            lambda device_labels, outputs: eval_metric.update_dict(
                dict(zip(self.label_names, device_labels, strict=False)),
                dict(zip(self.output_names, outputs, strict=True)),
            ),
        )

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity, on any device.

        As :meth:`Executor.check_finite`, for every device's rows of the last batch; findings name
        the device. ``out_grads`` are head gradients of the whole batch; by default the last ones.
        """
        return check_group_finite(self.core, self._head_gradients(out_grads), raise_error)

    def install_monitor(self, mon: Any) -> None:
        """Installs a monitor on the executors of all devices."""
        for executor in self.execs:
            mon.install(executor)
