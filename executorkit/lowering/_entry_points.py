"""Inference and lowering of a symbol, addressed by the names of its variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import MXNetError, explain
from ._infer import FactLists, graph_types, infer, reported_output_shapes
from ._lower import lower
from ._numbering import graph_of


def infer_shapes(symbol: Any, shapes: Mapping[str, Sequence[int]]) -> FactLists:
    """Shapes of arguments, outputs and auxiliary states from those given by name (0: unknown
    dimension); None where nothing is known. Raises :class:`ShapeError` for a contradiction."""
    graph = graph_of(symbol.heads)
    inferred = infer(graph, shapes)
    return (
        list(inferred.arg_shapes),
        reported_output_shapes(graph, inferred),
        list(inferred.aux_shapes),
    )


def infer_types(symbol: Any, dtypes: Mapping[str, str]) -> FactLists:
    """Dtype names of arguments, outputs and auxiliary states from those given by name; None where
    unknown. Raises :class:`DTypeError` for a contradiction."""
    return graph_types(graph_of(symbol.heads), dtypes)


def to_jax(symbol: Any) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """A symbol as a pure function of dictionaries, for jit, grad, vmap and shard_map of your own.

    ``f(args, aux={}, key=None, train=False) -> (outputs, new_aux)``: ``args`` and ``aux`` map
    names to arrays; ``outputs`` is a tuple in the order of ``list_outputs``, ``new_aux`` maps
    every auxiliary state to its new value. 64-bit dtypes are kept only if your own tracing runs
    with 64-bit types enabled.

    Derivatives are taken in reverse mode, of any order (``grad``, ``vjp``, ``jacrev``). Forward
    mode (``jvp``, ``jacfwd``, ``hessian``) works only without the operators that have a backward
    rule of their own, such as Convolution, BatchNorm, SoftmaxOutput and re-rolled recurrences: JAX
    raises TypeError.
    """
    graph = graph_of(symbol.heads)
    run = lower(graph)

    def pick(arrays: Mapping[str, Any], names: Sequence[str], kind: str) -> list[Any]:
        missing = [n for n in names if n not in arrays]
        if missing:
            raise MXNetError(explain("to_jax function", f"missing {kind}: {', '.join(missing)}"))
        return [arrays[n] for n in names]

    def function(
        args: Mapping[str, Any],
        aux: Mapping[str, Any] | None = None,
        key: Any = None,
        train: bool = False,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        outputs, new_aux = run(
            pick(args, graph.arg_names, "arguments"),
            pick(aux or {}, graph.aux_names, "auxiliary states"),
            key,
            train,
        )
        return outputs, dict(zip(graph.aux_names, new_aux, strict=True))

    return function
