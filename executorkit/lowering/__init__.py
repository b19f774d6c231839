"""From a symbol to a pure JAX function: inference of shapes and types, and the lowering itself."""

from ._graph import Graph, graph_of
from ._infer import infer, infer_shapes, infer_types, reported_output_shapes
from ._lower import channels_last_allowed, evaluate, lower, to_jax
from ._passes import LOWERING_PASSES, PASSES, disabled, disabled_passes, optimized
from ._segments import placements
from .summary.layers import Layer
from .summary.network_summary import Summary

__all__ = [
    "LOWERING_PASSES",
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
    "reported_output_shapes",
    "disabled_passes",
    "to_jax",
]
