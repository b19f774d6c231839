"""From a symbol to a pure JAX function: inference of shapes and types, and the lowering itself."""

from ._graph import Graph, graph_of
from ._infer import infer, infer_shapes, infer_types, shown_outputs
from ._layers import Layer
from ._lower import channels_last_allowed, evaluate, lower, to_jax
from ._partition import placements
from ._passes import LOWERINGS, PASSES, disabled, optimized, switched_off
from ._summary import Summary

__all__ = [
    "LOWERINGS",
    "PASSES",
    "Graph",
    "Layer",
    "Summary",
    "channels_last_allowed",
    "disabled",
    "evaluate",
    "graph_of",
    "infer",
    "infer_shapes",
    "infer_types",
    "lower",
    "optimized",
    "placements",
    "shown_outputs",
    "switched_off",
    "to_jax",
]
