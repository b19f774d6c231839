"""``mx.executor``: arrays bound to compiled programs, and the steps that run on them.

``Executor``, ``bind`` and ``simple_bind`` are for users. The other names are for the layers above:
replicated executors, groups and training steps.
"""

from ..debugging import (
    Finding as Finding,
    FiniteReport as FiniteReport,
    NotFiniteError as NotFiniteError,
)
from ._backward import (
    check_head_gradients as check_head_gradients,
    head_gradients as head_gradients,
    heads_in_order as heads_in_order,
    needs_head_gradients as needs_head_gradients,
)
from ._bind import bind as bind, simple_bind as simple_bind
from ._buffers import (
    Buffers as Buffers,
    lazy_zeros as lazy_zeros,
    load_arrays as load_arrays,
    load_data as load_data,
    load_label as load_label,
    read_buffers as read_buffers,
)
from ._cached_op import CachedOp as CachedOp  # attaches itself to mx.nd, too
from ._executor import Executor as Executor
from ._executor_view import (
    NOT_STORED as NOT_STORED,
    Section as Section,
    SectionEntry as SectionEntry,
    executor_parts as executor_parts,
    memory_summary as memory_summary,
    pending_status as pending_status,
    section_views as section_views,
    value_shapes as value_shapes,
)
from ._pending_step import (
    Backward as Backward,
    Computed as Computed,
    PendingStep as PendingStep,
    Waiting as Waiting,
)
from ._precompile_spec import PrecompileSpec as PrecompileSpec, bound_avals as bound_avals
from ._snapshot import (
    last_snapshot as last_snapshot,
    node_devices as node_devices,
    step_snapshot as step_snapshot,
)
from ._validation import (
    check_distinct_names as check_distinct_names,
    convert_for as convert_for,
    is_input_name as is_input_name,
    parse_grad_req as parse_grad_req,
)
from .runnable import BoundGraph as BoundGraph, Runnable as Runnable

# Scripts use these of MXNet's private names.
_load_data = load_data
_load_label = load_label
