"""``Executor.reshape``: the arrays of an executor for other shapes, in the same memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import MXNetError, ShapeError, did_you_mean
from ..lowering import Graph, InferenceResult, infer
from ..ndarray import NDArray
from ..ops.schema.inference import is_fully_known
from ._buffers import lazy_zeros
from ._validation import parse_shape


class BoundArrays(NamedTuple):
    args: Sequence[NDArray]
    grads: Sequence[NDArray | None] | None
    aux: Sequence[NDArray]
    outputs: Sequence[NDArray]

    def reshaped(
        self,
        graph: Graph,
        shapes: Mapping[str, Sequence[int]],
        partial_shaping: bool,
        allow_up_sizing: bool,
    ) -> BoundArrays:
        """Returns the arrays of :meth:`Executor.reshape`; checks first, and changes no array."""
        arrays = [*self.args, *self.aux]
        inferred = infer_new_shapes(graph, arrays, shapes, "reshape")
        new_shapes = [*inferred.arg_shapes, *inferred.aux_shapes]
        names = (*graph.arg_names, *graph.aux_names)
        for name, array, shape in zip(names, arrays, new_shapes, strict=True):
            if array.shape != shape:
                assert shape is not None
                may_change = partial_shaping or name in shapes
                _check_reshape(name, array, shape, may_change, allow_up_sizing)
        grads = zip(self.grads or [None] * len(self.args), inferred.arg_shapes, strict=True)
        outputs = [_whole(o) for o in self.outputs]
        return BoundArrays(
            [_in_shape(a, s) for a, s in zip(self.args, inferred.arg_shapes, strict=True)],
            [None if g is None else _in_shape(g, s) for g, s in grads],
            [_in_shape(a, s) for a, s in zip(self.aux, inferred.aux_shapes, strict=True)],
            [_in_shape(o, s) for o, s in zip(outputs, inferred.out_shapes, strict=True)],
        )


def _in_shape(array: NDArray, shape: Any) -> NDArray:
    shared = shared_view(array, shape)
    return lazy_zeros(shape, array.dtype_name, array.context) if shared is None else shared


def _whole(output: NDArray) -> NDArray:
    if output.covers_storage:
        return output
    storage = output.storage
    return NDArray.from_storage(storage, 0, storage.shape, output.context)


def infer_new_shapes(
    graph: Graph, arrays: Sequence[NDArray], shapes: Mapping[str, Sequence[int]], where: str
) -> InferenceResult:
    """Infers shapes and dtypes of arguments and states from new shapes, or raises ShapeError."""
    names = [*graph.arg_names, *graph.aux_names]
    for name in shapes:
        if name not in names:
            raise MXNetError(where, f"unknown argument {name!r}", hint=did_you_mean(name, names))
    parsed = {n: parse_shape(s, f"{where}: {n!r}") for n, s in shapes.items()}
    inferred = infer(graph, parsed, {n: a.dtype_name for n, a in zip(names, arrays, strict=True)})
    for name, shape in zip(names, (*inferred.arg_shapes, *inferred.aux_shapes), strict=True):
        if not is_fully_known(shape):
            problem = "its new shape does not follow from the shapes given"
            given_by = ", ".join(f"{n}={s}" for n, s in parsed.items()) or "no shapes"
            hint = f"give {name}=..."
            raise ShapeError(f"{where}: {name!r}", problem, given_by=given_by, hint=hint)
    return inferred


def shared_view(array: NDArray, shape: tuple[int, ...]) -> NDArray | None:
    """Returns the array, or its first elements, in this shape; None if it has too few."""
    if array.shape == shape:
        return array
    return array.flat_view(shape) if math.prod(shape) <= array.size else None


def _check_reshape(
    name: str, array: NDArray, shape: tuple[int, ...], may_change: bool, may_grow: bool
) -> None:
    if not may_change:
        problem = f"its shape changes from {array.shape} to {shape}, but it is not named"
        because = "a parameter of another shape would no longer be shared"
        hint = f"give {name}={shape}, or pass partial_shaping=True"
        raise ShapeError(f"reshape: {name!r}", problem, because=because, hint=hint)
    if shared_view(array, shape) is None and not may_grow:
        problem = f"it grows from {array.shape} to {shape}"
        because = "memory is shared with the smaller array"
        hint = "bind the largest shape first, or pass allow_up_sizing=True"
        raise ShapeError(f"reshape: {name!r}", problem, because=because, hint=hint)
