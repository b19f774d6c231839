"""What a module's group is made from, brought into one form: descriptions, requests, contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..errors import MXNetError, explain
from ..executor._arguments import grad_reqs
from ..io import DataDesc
from ..ops._attrs import dtype_name
from ..parallel._arrays import Groups
from ..parallel._batch import Input, LoadError


class GroupUsageError(MXNetError, AssertionError):
    """A group is asked for something that it was not bound for."""


class GradReqError(MXNetError, ValueError, AssertionError):
    """``grad_req`` is no text, list or dict, or has no entry for each argument."""


def requests(
    grad_req: Any, names: Sequence[str], wanted: set[str], for_training: bool
) -> dict[str, str]:
    """``grad_req`` for each argument; a text holds for those that are ``wanted``, a dict for those
    that it names (others that are wanted get 'write')."""
    if not for_training:
        return dict.fromkeys(names, "null")
    if isinstance(grad_req, list | tuple):
        if len(grad_req) != len(names):
            raise GradReqError(
                explain(
                    "group: grad_req",
                    f"{len(grad_req)} entries for {len(names)} arguments: {', '.join(names)}",
                )
            )
        return dict(zip(names, grad_reqs(grad_req, names), strict=True))
    if not isinstance(grad_req, str | Mapping):
        raise GradReqError(
            explain("group: grad_req", f"{grad_req!r}, expected a text, a list or a dict")
        )
    usual = grad_req if isinstance(grad_req, str) else "write"
    given = {} if isinstance(grad_req, str) else grad_req
    all_of_them = {n: given.get(n, usual if n in wanted else "null") for n in names}
    return dict(zip(names, grad_reqs(all_of_them, names), strict=True))


def prepared_group2ctxs(given: Any, count: int) -> list[Groups | None]:
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
    raise GroupUsageError(
        explain(
            "group: group2ctxs",
            f"{given!r}, expected a dict from ctx_group to context, or a list of such dicts",
        )
    )


def _check_count(given: Sequence[Any], count: int, what: str) -> None:
    if len(given) != count:
        raise GroupUsageError(
            explain(
                "group: group2ctxs", f"{len(given)} entries {what}".rstrip() + f", expected {count}"
            )
        )


def description(given: Any) -> DataDesc:
    """A DataDesc of one, or of (name, shape) and what else its constructor takes."""
    return given if isinstance(given, DataDesc) else DataDesc(*given)


def input_of(description: DataDesc, axis: int) -> Input:
    """What a group is told of an input whose batch lies along ``axis``."""
    dtype = None if description.dtype is None else dtype_name(description.dtype)
    return Input(description.name, tuple(description.shape), dtype, axis)


def batch_of(shapes: Sequence[Any], batch_size: int | None) -> tuple[list[int], int]:
    """Batch axes of inputs, and the number of rows, which they share."""
    axes = []
    for one in map(description, shapes):
        axis = DataDesc.get_batch_axis(one.layout)
        axes.append(axis)
        if axis < 0:
            continue
        rows = one.shape[axis]
        if batch_size is not None and rows != batch_size:
            raise LoadError(
                explain(
                    f"group: input {one.name!r}",
                    f"shape {tuple(one.shape)} with {rows} rows, expected {batch_size}",
                    because="all data and labels of a batch have the same number of rows",
                )
            )
        batch_size = rows
    return axes, batch_size or 0
