"""What a module's group is made from, brought into one form: descriptions, requests, contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..errors import ArgumentValueError, BatchError, ModuleUsageError, explain
from ..executor._validation import parse_grad_req
from ..io import DataDesc
from ..ops.schema.attrs import dtype_name
from ..parallel._batch_transfer import BatchInput
from ..parallel._data_parallel_core import ContextGroups


def grad_req_by_argument(
    grad_req: Any, names: Sequence[str], wanted: set[str], for_training: bool
) -> dict[str, str]:
    """``grad_req`` for each argument; a text holds for those that are ``wanted``, a dict for those
    that it names (others that are wanted get 'write')."""
    if not for_training:
        return dict.fromkeys(names, "null")
    if isinstance(grad_req, list | tuple):
        if len(grad_req) != len(names):
            raise ArgumentValueError(
                explain(
                    "group: grad_req",
                    f"{len(grad_req)} entries for {len(names)} arguments: {', '.join(names)}",
                )
            )
        return dict(zip(names, parse_grad_req(grad_req, names), strict=True))
    if not isinstance(grad_req, str | Mapping):
        raise ArgumentValueError(
            explain("group: grad_req", f"{grad_req!r}, expected a text, a list or a dict")
        )
    usual = grad_req if isinstance(grad_req, str) else "write"
    given = {} if isinstance(grad_req, str) else grad_req
    all_of_them = {n: given.get(n, usual if n in wanted else "null") for n in names}
    return dict(zip(names, parse_grad_req(all_of_them, names), strict=True))


def group2ctxs_per_context(given: Any, count: int) -> list[ContextGroups | None]:
    """``group2ctxs`` as one dict (or None) for each of ``count`` contexts."""
    if given is None:
        return [None] * count
    if isinstance(given, Mapping):
        result: list[Any] = [{} for _ in range(count)]
        for group, contexts in given.items():
            spread = [contexts] if isinstance(contexts, Context) else list(contexts)
            spread = spread * count if len(spread) == 1 else spread
            _check_count(spread, count, f"of ctx_group {group!r}")
            for own, context in zip(result, spread, strict=True):
                own[group] = context
        return result
    if isinstance(given, Sequence) and not isinstance(given, str):
        _check_count(given, count, "")
        return list(given)
    raise ModuleUsageError(
        explain(
            "group: group2ctxs",
            f"{given!r}, expected a dict from ctx_group to context, or a list of such dicts",
        )
    )


def _check_count(given: Sequence[Any], count: int, what: str) -> None:
    if len(given) != count:
        raise ModuleUsageError(
            explain(
                "group: group2ctxs", f"{len(given)} entries {what}".rstrip() + f", expected {count}"
            )
        )


def as_data_desc(given: Any) -> DataDesc:
    """A DataDesc of one, or of (name, shape) and what else its constructor takes."""
    return given if isinstance(given, DataDesc) else DataDesc(*given)


def group_input(as_data_desc: DataDesc, axis: int) -> BatchInput:
    """What a group is told of an input whose batch lies along ``axis``."""
    dtype = None if as_data_desc.dtype is None else dtype_name(as_data_desc.dtype)
    return BatchInput(as_data_desc.name, tuple(as_data_desc.shape), dtype, axis)


def batch_axes_and_size(shapes: Sequence[Any], batch_size: int | None) -> tuple[list[int], int]:
    """Batch axes of inputs, and the number of rows, which they share."""
    axes = []
    for one in map(as_data_desc, shapes):
        axis = DataDesc.get_batch_axis(one.layout)
        axes.append(axis)
        if axis < 0:
            continue
        rows = one.shape[axis]
        if batch_size is not None and rows != batch_size:
            raise BatchError(
                explain(
                    f"group: input {one.name!r}",
                    f"shape {tuple(one.shape)} with {rows} rows, expected {batch_size}",
                    because="all data and labels of a batch have the same number of rows",
                )
            )
        batch_size = rows
    return axes, batch_size or 0
