"""Arguments of modules and of their groups: types, signatures as objects, checks, one form."""

import difflib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from .._support.annotations import Attrs
from ..context import Context
from ..errors import (
    ArgumentValueError,
    BatchError,
    BatchTypeError,
    BindError,
    DataArgumentError,
    ModuleUsageError,
    explain,
    shorten,
)
from ..executor import parse_grad_req
from ..io import DataDesc
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..ops.schema.attrs import dtype_name
from ..parallel import BatchInput, ContextGroups
from ..symbol import Symbol

#: Names and shapes of inputs, such as an iterator's ``provide_data``.
Descriptions = Sequence[DataDesc | tuple[str, Sequence[int]]]
#: Parameters, or auxiliary states, by name.
NamedArrays = Mapping[str, NDArray]
#: Head gradients of the outputs.
HeadGradients = NDArray | Sequence[NDArray] | None
#: 'write', 'add' or 'null', for all arguments or by argument.
GradientRequests = str | Sequence[str] | Mapping[str, str]
#: A metric, its name, a function of labels and predictions, or a list of these.
Metric = EvalMetric | str | Callable[..., Any] | Sequence[Any]

#: Arguments of an optimizer that is made by name.
OptimizerParams = Mapping[str, Any] | Sequence[tuple[str, Any]]
#: A function that is called during training, or several.
Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]] | None


class Batch(Protocol):
    """A batch: a DataBatch, or another object with its data and labels."""

    @property
    def data(self) -> Any: ...

    @property
    def label(self) -> Any: ...


class _Spec:
    __slots__ = ()

    def keywords(self, **changes: Any) -> Attrs:
        return {f.name: getattr(self, f.name) for f in fields(self)} | changes  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class BindSpec(_Spec):
    data_shapes: Descriptions
    label_shapes: Descriptions | None
    for_training: bool
    inputs_need_grad: bool
    force_rebind: bool
    shared_module: Any
    grad_req: GradientRequests


@dataclass(frozen=True, slots=True)
class ParameterSpec(_Spec):
    initializer: Any
    arg_params: Any
    aux_params: Any
    allow_missing: bool
    force_init: bool
    allow_extra: bool


@dataclass(frozen=True, slots=True)
class OptimizerSpec(_Spec):
    kvstore: Any
    optimizer: Any
    optimizer_params: Any
    force_init: bool


@dataclass(slots=True)
class ModuleOptions:
    """Arguments of a module that ``bind`` and ``init_optimizer`` hand on."""

    group2ctxs: Any
    compression_params: Any
    compute_dtype: Any
    remat: Any


@dataclass(slots=True)
class BoundShapes:
    """The inputs that a module is bound for."""

    data: list[DataDesc] = None  # type: ignore[assignment]
    #: None if it is bound without labels.
    labels: list[DataDesc] | None = None
    #: The usual labels, while the module is bound for a batch without any.
    left_out: list[DataDesc] | None = None


def check_input_names(symbol: Symbol, names: Sequence[str], kind: str, required: bool) -> None:
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        close = difflib.get_close_matches(name, arguments, 3) or arguments
        text = explain(
            f"Module: {kind}_names",
            f"{name!r} is not an argument of the symbol",
            given_by=f"{kind}_names={list(names)}",
            hint="one of: " + ", ".join(close),
        )
        if required:
            raise BindError(text)
        warnings.warn(text, UserWarning, stacklevel=4)


def data_descs(
    data_names: Sequence[str],
    label_names: Sequence[str],
    data_shapes: Descriptions,
    label_shapes: Descriptions | None,
    method: str,
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Converts shapes to DataDescs. ValueError unless the names are the data's; a label's warns."""
    data = [as_data_desc(d) for d in data_shapes]
    labels = None if label_shapes is None else [as_data_desc(d) for d in label_shapes]
    if sorted(d.name for d in data) != sorted(data_names):
        raise BindError(_mismatch(method, "data", data_names, data))
    if sorted(d.name for d in labels or ()) != sorted(label_names):
        text = _mismatch(method, "label", label_names, labels or [])
        warnings.warn(text, UserWarning, stacklevel=4)
    return data, labels


def check_batch(batch: Any) -> None:
    """Raises BatchTypeError (a TypeError and an AttributeError) for arrays in place of a batch."""
    if _is_of_arrays(batch):
        hint = "mx.io.DataBatch([data], [label]) of NDArrays"
        raise BatchTypeError("forward", f"the batch is {_kind(batch)}", hint=hint)


def check_iterator(data: Any, name: str) -> None:
    if _is_of_arrays(data):
        hint = "mx.io.NDArrayIter(data, label, batch_size)"
        raise BatchTypeError(name, f"it is {_kind(data)}, expected an iterator", hint=hint)


def _is_of_arrays(value: Any) -> bool:
    return isinstance(value, np.ndarray | NDArray) or type(value) in (tuple, list, dict, type(None))


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _mismatch(method: str, kind: str, names: Sequence[str], descs: Sequence[DataDesc]) -> str:
    return explain(
        f"{method}: {kind}_shapes",
        f"they are of [{', '.join(d.name for d in descs)}], expected [{', '.join(names)}]",
        because=f"{kind}_names of the module say so",
    )


def grad_req_by_argument(
    grad_req: GradientRequests, names: Sequence[str], differentiated: set[str], for_training: bool
) -> dict[str, str]:
    """Returns ``grad_req`` for each argument: a text holds for the ``differentiated`` ones, a list
    for all in order, a dict by name (other differentiated ones get 'write')."""
    if not for_training:
        return dict.fromkeys(names, "null")
    if isinstance(grad_req, list | tuple):
        if len(grad_req) != len(names):
            problem = f"{len(grad_req)} entries for {len(names)} arguments: {', '.join(names)}"
            raise ArgumentValueError("group: grad_req", problem)
        return dict(zip(names, parse_grad_req(grad_req, names), strict=True))
    if not isinstance(grad_req, str | Mapping):
        problem = f"{grad_req!r}, expected a text, a list or a dict"
        raise ArgumentValueError("group: grad_req", problem)
    default = grad_req if isinstance(grad_req, str) else "write"
    named = {} if isinstance(grad_req, str) else grad_req
    complete = {n: named.get(n, default if n in differentiated else "null") for n in names}
    return dict(zip(names, parse_grad_req(complete, names), strict=True))


def group2ctxs_per_context(group2ctxs: Any, count: int) -> list[ContextGroups | None]:
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, Mapping):
        result: list[Any] = [{} for _ in range(count)]
        for group, contexts in group2ctxs.items():
            group_contexts = [contexts] if isinstance(contexts, Context) else list(contexts)
            group_contexts = group_contexts * count if len(group_contexts) == 1 else group_contexts
            _check_count(group_contexts, count, f"of ctx_group {group!r}")
            for context_by_group, context in zip(result, group_contexts, strict=True):
                context_by_group[group] = context
        return result
    if isinstance(group2ctxs, Sequence) and not isinstance(group2ctxs, str):
        _check_count(group2ctxs, count, "")
        return list(group2ctxs)
    problem = f"{group2ctxs!r}, expected a dict from ctx_group to context, or a list of such dicts"
    raise ModuleUsageError("group: group2ctxs", problem)


def _check_count(entries: Sequence[Any], count: int, source: str) -> None:
    if len(entries) != count:
        number = f"{len(entries)} entries {source}".rstrip()
        raise ModuleUsageError("group: group2ctxs", f"{number}, expected {count}")


def as_data_desc(desc: Any) -> DataDesc:
    if isinstance(desc, DataDesc):
        return desc
    match desc:
        case [str(), shape, *_] if isinstance(shape, Iterable) and not isinstance(shape, str):
            return DataDesc(*desc)
    problem = f"{shorten(repr(desc))} in place of a name and a shape"
    hint = "[('data', (32, 784))], or the provide_data of an iterator"
    raise DataArgumentError("data_shapes, label_shapes", problem, hint=hint)


def batch_inputs(shapes: Sequence[Any], rows: int | None) -> tuple[list[BatchInput], int]:
    """Returns the group's inputs, divided along their batch axes, and their number of rows."""
    inputs = []
    for desc in map(as_data_desc, shapes):
        axis = DataDesc.get_batch_axis(desc.layout)
        dtype = None if desc.dtype is None else dtype_name(desc.dtype)
        inputs.append(BatchInput(desc.name, tuple(desc.shape), dtype, axis))
        if axis < 0:
            continue
        if rows is not None and desc.shape[axis] != rows:
            problem = f"shape {tuple(desc.shape)} with {desc.shape[axis]} rows, expected {rows}"
            because = "all data and labels of a batch have the same number of rows"
            raise BatchError(f"group: input {desc.name!r}", problem, because=because)
        rows = desc.shape[axis]
    return inputs, rows or 0
