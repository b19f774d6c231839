"""Whether arrays fit a graph and each other, found out before anything is run."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import DTypeError, ShapeError, explain
from ..lowering import Graph, infer
from ..lowering._infer import InferenceResult
from ..ndarray import NDArray
from ..ops._facts import is_fully_known


def check_arrays(
    graph: Graph,
    arg_arrays: Sequence[NDArray],
    aux_arrays: Sequence[NDArray],
    grad_arrays: Sequence[NDArray | None] | None,
) -> InferenceResult:
    """The whole graph inferred from the arrays, so that what does not fit surfaces here.

    Raises ShapeError or DTypeError, naming the array.
    """
    arrays = [
        *zip(graph.arg_names, arg_arrays, strict=True),
        *zip(graph.aux_names, aux_arrays, strict=True),
    ]
    found = infer(
        graph,
        {name: array.shape for name, array in arrays},
        {name: array.dtype_name for name, array in arrays},
        bound=True,
    )
    shapes = (*found.arg_shapes, *found.aux_shapes)
    for (name, array), shape in zip(arrays, shapes, strict=True):
        if array.shape != shape:
            raise ShapeError(
                explain(f"bind: argument {name!r}", f"shape {array.shape}, expected {shape}")
            )
    for name, shape in zip(graph.output_names, found.out_shapes, strict=True):
        if not is_fully_known(shape):
            raise ShapeError(
                explain(f"bind: output {name!r}", f"its shape {shape} cannot be inferred")
            )
    for name, array, grad in zip(
        graph.arg_names, arg_arrays, grad_arrays or [None] * len(arg_arrays),
        strict=True,
    ):  # fmt: skip
        if grad is None:
            continue
        where = f"bind: args_grad[{name!r}]"
        if grad.shape != array.shape:
            problem = f"shape {grad.shape}, expected {array.shape}"
            because = f"that is the shape of argument {name!r}"
            raise ShapeError(explain(where, problem, because=because))
        if grad.dtype != array.dtype:
            problem = f"{grad.dtype_name}, expected {array.dtype_name}"
            because = f"that is the type of argument {name!r}"
            raise DTypeError(explain(where, problem, because=because))
    return found
