"""From a symbol to a pure JAX function: inference of shapes and types, passes, and lowering.

``reroll`` turns unrolled repetitions into loops, ``summary`` counts the work of layers.
"""

from . import _symbol_methods as _symbol_methods  # attaches methods to Symbol
from ._batch_norm_folding import lower_for_inference as lower_for_inference
from ._graph import (
    Graph as Graph,
    GraphStep as GraphStep,
    memoize as memoize,
    optional_arguments as optional_arguments,
    signature_of as signature_of,
    without_labels as without_labels,
    written_states as written_states,
)
from ._infer import (
    InferenceResult as InferenceResult,
    call_results as call_results,
    infer as infer,
    reported_output_shapes as reported_output_shapes,
    resolved_params as resolved_params,
    value_dtypes as value_dtypes,
)
from ._interpreter import evaluate as evaluate, node_key as node_key, walk as walk
from ._jax_function import JaxFunction as JaxFunction
from ._lower import (
    channels_last_allowed as channels_last_allowed,
    lower as lower,
    shared_state_updates as shared_state_updates,
)
from ._numbering import LoweredBody as LoweredBody, graph_of as graph_of
from ._passes import (
    LOWERING_PASSES as LOWERING_PASSES,
    PASSES as PASSES,
    disabled as disabled,
    disabled_passes as disabled_passes,
    optimized as optimized,
    with_merged_heads as with_merged_heads,
)
from ._segments import (
    DeviceSegment as DeviceSegment,
    device_segments as device_segments,
    evaluate_with_checkpoints as evaluate_with_checkpoints,
    placements as placements,
)
from .reroll import plan_of as plan_of
from .staging import Stages as Stages, two_stages as two_stages
from .summary import (
    Cost as Cost,
    Layer as Layer,
    NodeCost as NodeCost,
    Summary as Summary,
    cost_of as cost_of,
)
