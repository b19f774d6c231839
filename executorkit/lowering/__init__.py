"""From a symbol to a pure JAX function: inference of shapes and types, passes, and lowering.

``reroll`` turns unrolled repetitions into loops, ``summary`` counts the work of layers.
"""

from ._backward_order import shared_state_updates
from ._batch_norm_folding import lower_for_inference
from ._entry_points import infer_shapes, infer_types, to_jax
from ._graph import Graph, GraphStep, memoize
from ._infer import (
    InferenceCache,
    InferenceResult,
    infer,
    reported_output_shapes,
    set_inference_cache,
    value_dtypes,
)
from ._interpreter import evaluate, node_key, resolved_params
from ._jax_function import JaxFunction
from ._label_inputs import optional_arguments, without_labels
from ._lower import channels_last_allowed, lower
from ._numbering import graph_of
from ._passes import LOWERING_PASSES, PASSES, disabled, disabled_passes, optimized
from ._segments import DeviceSegment, device_segments, evaluate_with_checkpoints, placements
from ._signature import signature_of
from ._subgraphs import LoweredBody
from .reroll import plan_of
from .staging import Stages, two_stages
from .summary import Cost, Layer, NodeCost, Summary, cost_of

__all__ = [
    "LOWERING_PASSES",
    "PASSES",
    "Cost",
    "DeviceSegment",
    "Graph",
    "GraphStep",
    "InferenceCache",
    "InferenceResult",
    "JaxFunction",
    "Layer",
    "LoweredBody",
    "NodeCost",
    "Stages",
    "Summary",
    "channels_last_allowed",
    "cost_of",
    "device_segments",
    "disabled",
    "disabled_passes",
    "evaluate",
    "evaluate_with_checkpoints",
    "graph_of",
    "infer",
    "infer_shapes",
    "infer_types",
    "lower",
    "lower_for_inference",
    "memoize",
    "node_key",
    "optimized",
    "optional_arguments",
    "placements",
    "plan_of",
    "reported_output_shapes",
    "resolved_params",
    "set_inference_cache",
    "shared_state_updates",
    "signature_of",
    "to_jax",
    "two_stages",
    "value_dtypes",
    "without_labels",
]
