"""Inference and lowering of a symbol, addressed by the names of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._infer import FactLists, graph_types, infer, reported_output_shapes
from ._jax_function import JaxFunction
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


def to_jax(symbol: Any, shapes: Mapping[str, Sequence[int]] | None = None) -> JaxFunction:
    """A symbol as a pure function of dictionaries, for jit, grad, vmap and shard_map of your own.

    ``shapes``, by name, are only for the function's docstring; see :class:`JaxFunction`. Raises
    :class:`ShapeError` if they contradict each other or the graph, and :class:`MXNetError` for a
    name that the graph does not have.
    """
    return JaxFunction(symbol, shapes)
