"""The executor group of MXNet's classic loop, made from slices and an iterator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..context import Context
from ..debugging import FiniteReport
from ..display import View, Viewed, brief, view_of
from ..errors import BatchTypeError, BindError
from ..executor import Executor
from ..io import DataDesc
from ..ndarray import NDArray
from ..ops.schema.attrs import dtype_name
from ..symbol import Symbol
from ._batch_transfer import BatchInput, assign_scattered
from ._data_parallel_core import DataParallel, DataParallelCore, update_metric
from ._group_inspection import check_group_finite, group_label, group_parts
from ._replicated_array import PerDevice

Pairs = list[list[tuple[slice, NDArray]]]


def check_arguments(symbol: Symbol) -> None:
    """Raises ValueError if arguments or auxiliary states of the symbol share a name."""
    arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    for names, what in ((arguments, "argument"), (states, "auxiliary state")):
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            problem = f"{names.count(repeated[0])} of them have this name"
            given_by = ", ".join(names)
            hint = "give the operators names of their own (name=...)"
            raise BindError(f"{what} {repeated[0]!r}", problem, given_by=given_by, hint=hint)


class ExecutorGroup(Viewed, DataParallel):
    slices: list[slice]
    data_names: list[str]

    @property
    def data_arrays(self) -> Pairs:
        """For each data input, (slice, NDArray) of all devices."""
        return self._pairs(self.data_names)

    @property
    def aux_arrays(self) -> list[PerDevice]:
        return self.core.aux_arrays

    def _pairs(self, names: Sequence[str]) -> Pairs:
        arrays = self.core.arg_arrays
        positions = [self.core.arg_names.index(n) for n in names]
        return [list(zip(self.slices, arrays[i], strict=True)) for i in positions]


@view_of.register
def _(group: ExecutorGroup) -> View:
    return View(f"DataParallelExecutorGroup of {group_label(group.core)}", group_parts(group.core))


class DataParallelExecutorGroup(ExecutorGroup):
    """Executors of one symbol on several devices, each with its slice of every batch.

    sym
        the network; its arguments have different names, else ValueError.
    arg_names, param_names
        names of all arguments, and of the parameters, which all get gradients.
    ctx, slices
        the devices, and the rows of the batch that each of them gets.
    train_data
        an iterator or batch with ``provide_data`` and ``provide_label``.
    shared_group
        another bucket's group, whose parameters, gradients and auxiliary states are used.

    Slices of one length on distinct devices run as one pmapped program; the arrays per device are
    views, made when a script looks at them.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        check_arguments(sym)
        self.slices = list(slices)
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        rows = self.slices[-1].stop if self.slices else 0
        self._data = [_input(d, rows) for d in train_data.provide_data]
        self._labels = [_input(d, rows) for d in train_data.provide_label or ()]
        self.data_names = [i.name for i in self._data]
        self.label_names = [i.name for i in self._labels]
        self.core = DataParallelCore(
            sym,
            ctx,
            self.slices,
            [*self._data, *self._labels],
            ["write" if n in self.param_names else "null" for n in sym.list_arguments()],
            shared=shared_group.core if shared_group else None,
            shared_names=self.param_names,
        )

    def __repr__(self) -> str:
        return brief(self, None, self.core.phrases)

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to the devices, or raises ValueError for a missing or misshapen array."""
        labels = data_batch.label
        if labels is None and self._labels:
            problem = f"missing, expected an array of shape {self._labels[0].shape}"
            given_by = "a batch whose label is None"
            raise BatchTypeError(f"label {self._labels[0].name!r}", problem, given_by=given_by)
        writes = self.core.scattered(self._data, data_batch.data, "data")
        writes += self.core.scattered(self._labels, labels or [], "label")
        for target, value in writes:
            assign_scattered(target, value)

    def forward(self, is_train: bool = False) -> None:
        """Runs all devices; outputs are computed when they are read."""
        self.core.forward(bool(is_train))

    def backward(self) -> None:
        """Computes the gradients on all devices. MXNetError without a forward."""
        self.core.backward()

    def update_metric(self, metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Updates a metric with each device's outputs and labels (lists if ``pre_sliced``)."""
        update_metric(self.core, labels, pre_sliced, [i.axis for i in self._labels], metric.update)

    @property
    def train_execs(self) -> Sequence[Executor]:
        """One executor for each device."""
        return self.core.execs

    @property
    def label_arrays(self) -> Pairs:
        """For each label, (slice, NDArray) of all devices."""
        return self._pairs(self.label_names)

    @property
    def param_arrays(self) -> list[PerDevice]:
        """For each parameter the arrays of all devices."""
        return [self.core.arg_arrays[i] for i in self.param_idx]

    @property
    def grad_arrays(self) -> list[PerDevice | None]:
        """For each parameter the gradients of all devices."""
        return [self.core.grad_arrays[i] for i in self.param_idx]

    def check_finite(self, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch, on any device, as
        :meth:`Executor.check_finite`; findings name the rows."""
        return check_group_finite(self.core, None, raise_error)


def _input(description: Any, rows: int) -> BatchInput:
    name, shape = description[0], tuple(description[1])
    axis = DataDesc.get_batch_axis(getattr(description, "layout", None))
    dtype = getattr(description, "dtype", None)
    if axis >= 0:
        shape = (*shape[:axis], rows, *shape[axis + 1 :])
    return BatchInput(name, shape, None if dtype is None else dtype_name(dtype), axis)
