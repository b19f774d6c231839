"""``Executor.reshape``: the same symbol for other shapes, in the same memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import MXNetError, ShapeError, did_you_mean, explain
from ..lowering import infer
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ops._facts import is_fully_known
from ._arguments import parse_shape
from ._fresh import lazy_zeros

if TYPE_CHECKING:
    from ._executor import Executor


def reshape(
    executor: Executor,
    partial_shaping: bool,
    allow_up_sizing: bool,
    given: Mapping[str, Sequence[int]],
) -> Executor:
    """See ``Executor.reshape``. All checks come first; the old executor is never changed."""
    from ._executor import Executor

    found = infer_new_shapes(executor, given, "reshape")
    _check_reshape(executor, found, given, partial_shaping, allow_up_sizing)

    def fitted(array: Any, shape: Any) -> NDArray:
        shared = shared_view(array, shape)
        if shared is not None:
            return shared
        return lazy_zeros(shape, array.dtype_name, array.context)

    grads = executor.grad_arrays or [None] * len(executor.arg_arrays)
    return Executor(
        executor._symbol,
        executor._ctx,
        [fitted(a, s) for a, s in zip(executor.arg_arrays, found.arg_shapes, strict=True)],
        [None if g is None else fitted(g, s) for g, s in zip(grads, found.arg_shapes, strict=True)],
        executor._grad_req,
        [fitted(a, s) for a, s in zip(executor.aux_arrays, found.aux_shapes, strict=True)],
        executor._group2ctx,
        options=executor._options,
    )


def infer_new_shapes(
    executor: Executor, given: Mapping[str, Sequence[int]], where: str
) -> InferenceResult:
    """What follows for the executor's graph from new shapes by name, all of it known."""
    graph = executor._graph
    names = [*graph.arg_names, *graph.aux_names]
    for name in given:
        if name not in names:
            raise MXNetError(
                explain(where, f"unknown argument {name!r}", hint=did_you_mean(name, names))
            )
    given = {n: parse_shape(s, f"{where}: {n!r}") for n, s in given.items()}
    arrays = [*executor.arg_arrays, *executor.aux_arrays]
    found = infer(
        graph,
        given,
        {n: a.dtype_name for n, a in zip(names, arrays, strict=True)},
    )
    for name, shape in zip(names, (*found.arg_shapes, *found.aux_shapes), strict=True):
        if not is_fully_known(shape):
            raise ShapeError(
                explain(
                    f"{where}: {name!r}",
                    "its new shape does not follow from the shapes given",
                    given_by=", ".join(f"{n}={s}" for n, s in given.items()) or "no shapes",
                    hint=f"give {name}=...",
                )
            )
    return found


def shared_view(array: NDArray, shape: tuple[int, ...]) -> NDArray | None:
    """The array, or a view of its first elements, in this shape; None if it has too few."""
    if array.shape == shape:
        return array
    return array.flat_view(shape) if math.prod(shape) <= array.size else None


def _check_reshape(
    executor: Executor,
    found: InferenceResult,
    given: Mapping[str, Any],
    partial_shaping: bool,
    allow_up_sizing: bool,
) -> None:
    graph = executor._graph
    for name, array, shape in zip(
        (*graph.arg_names, *graph.aux_names),
        (*executor.arg_arrays, *executor.aux_arrays),
        (*found.arg_shapes, *found.aux_shapes),
        strict=True,
    ):
        if array.shape == shape:
            continue
        assert shape is not None
        if name not in given and not partial_shaping:
            raise ShapeError(
                explain(
                    f"reshape: {name!r}",
                    f"its shape changes from {array.shape} to {shape}, but it is not named",
                    because="a parameter of another shape would no longer be shared",
                    hint=f"give {name}={shape}, or pass partial_shaping=True",
                )
            )
        if shared_view(array, shape) is None and not allow_up_sizing:
            raise ShapeError(
                explain(
                    f"reshape: {name!r}",
                    f"it grows from {array.shape} to {shape}",
                    because="memory is shared with the smaller array",
                    hint="bind the largest shape first, or pass allow_up_sizing=True",
                )
            )
