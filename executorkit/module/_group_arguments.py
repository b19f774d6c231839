"""Arguments of an executor group in one form: input descriptions, ``grad_req``, ``group2ctxs``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..context import Context
from ..errors import (
    ArgumentValueError,
    BatchError,
    DataArgumentError,
    ModuleUsageError,
    shorten,
)
from ..executor import parse_grad_req
from ..io import DataDesc
from ..ops.schema.attrs import dtype_name
from ..parallel import BatchInput, ContextGroups


def grad_req_by_argument(
    grad_req: Any, names: Sequence[str], differentiated: set[str], for_training: bool
) -> dict[str, str]:
    """``grad_req`` for each argument.

    grad_req
        a text holds for the ``differentiated`` arguments, a list for all of them in order, a dict
        for those that it names (other differentiated ones get 'write').
    """
    if not for_training:
        return dict.fromkeys(names, "null")
    if isinstance(grad_req, list | tuple):
        if len(grad_req) != len(names):
            raise ArgumentValueError(
                "group: grad_req",
                f"{len(grad_req)} entries for {len(names)} arguments: {', '.join(names)}",
            )
        return dict(zip(names, parse_grad_req(grad_req, names), strict=True))
    if not isinstance(grad_req, str | Mapping):
        raise ArgumentValueError(
            "group: grad_req", f"{grad_req!r}, expected a text, a list or a dict"
        )
    default = grad_req if isinstance(grad_req, str) else "write"
    named = {} if isinstance(grad_req, str) else grad_req
    complete = {n: named.get(n, default if n in differentiated else "null") for n in names}
    return dict(zip(names, parse_grad_req(complete, names), strict=True))


def group2ctxs_per_context(group2ctxs: Any, count: int) -> list[ContextGroups | None]:
    """``group2ctxs`` as one dict (or None) for each of ``count`` contexts."""
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
    raise ModuleUsageError(
        "group: group2ctxs",
        f"{group2ctxs!r}, expected a dict from ctx_group to context, or a list of such dicts",
    )


def _check_count(entries: Sequence[Any], count: int, source: str) -> None:
    if len(entries) != count:
        number = f"{len(entries)} entries {source}".rstrip()
        raise ModuleUsageError("group: group2ctxs", f"{number}, expected {count}")


def as_data_desc(desc: Any) -> DataDesc:
    """A DataDesc, or a tuple of its constructor's arguments, (name, shape, ...), as a DataDesc;
    DataArgumentError (a TypeError and a ValueError) for anything else."""
    if isinstance(desc, DataDesc):
        return desc
    match desc:
        case [str(), shape, *_] if isinstance(shape, Iterable) and not isinstance(shape, str):
            return DataDesc(*desc)
    raise DataArgumentError(
        "data_shapes, label_shapes",
        f"{shorten(repr(desc))} in place of a name and a shape",
        hint="[('data', (32, 784))], or the provide_data of an iterator",
    )


def group_input(desc: DataDesc, axis: int) -> BatchInput:
    """The group's description of an input whose batch lies along ``axis``."""
    dtype = None if desc.dtype is None else dtype_name(desc.dtype)
    return BatchInput(desc.name, tuple(desc.shape), dtype, axis)


def batch_axes_and_size(shapes: Sequence[Any], batch_size: int | None) -> tuple[list[int], int]:
    """Batch axes of inputs, and the number of rows, which they share."""
    axes = []
    for desc in map(as_data_desc, shapes):
        axis = DataDesc.get_batch_axis(desc.layout)
        axes.append(axis)
        if axis < 0:
            continue
        rows = desc.shape[axis]
        if batch_size is not None and rows != batch_size:
            raise BatchError(
                f"group: input {desc.name!r}",
                f"shape {tuple(desc.shape)} with {rows} rows, expected {batch_size}",
                because="all data and labels of a batch have the same number of rows",
            )
        batch_size = rows
    return axes, batch_size or 0
