"""``mx.executor``: arrays bound to compiled programs, and the steps that run on them.

``Executor``, ``bind`` and ``simple_bind`` are for users. The other names are for the layers above:
replicated executors, groups and training steps.
"""

from ..debugging import Finding, FiniteReport, NotFiniteError
from ._array_sections import (
    NOT_STORED,
    Section,
    SectionEntry,
    memory_summary,
    pending_status,
    section_views,
    value_shapes,
)
from ._bind import bind, simple_bind
from ._buffers import lazy_zeros
from ._executor import Executor
from ._executor_view import executor_parts
from ._head_gradients import check_head_gradients, head_gradients, needs_head_gradients
from ._pending_step import PendingStep
from ._precompile_spec import PrecompileSpec, bound_avals
from ._snapshot import last_snapshot, node_devices
from ._validation import (
    check_distinct_names,
    convert_for,
    is_input_name,
    parse_grad_req,
)
from .protocol import Runnable

__all__ = [
    "NOT_STORED",
    "Executor",
    "Finding",
    "FiniteReport",
    "NotFiniteError",
    "PendingStep",
    "PrecompileSpec",
    "Runnable",
    "Section",
    "SectionEntry",
    "bind",
    "bound_avals",
    "check_distinct_names",
    "check_head_gradients",
    "convert_for",
    "executor_parts",
    "head_gradients",
    "is_input_name",
    "last_snapshot",
    "lazy_zeros",
    "memory_summary",
    "needs_head_gradients",
    "node_devices",
    "parse_grad_req",
    "pending_status",
    "section_views",
    "simple_bind",
    "value_shapes",
]
