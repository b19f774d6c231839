"""Compiled programs: shared between executors of equal graphs, counted, bounded.

To keep compiled programs between processes::

    mx.program.enable_disk_cache("directory")

or ``EXECUTORKIT_CACHE_DIR=directory`` in the environment.

Former names stay as aliases for one release: ``keep_compiled`` of :func:`enable_disk_cache`,
``Warming`` of :class:`Precompilation`, ``OptionError`` of :class:`ArgumentValueError`.
"""

from ..errors import ArgumentValueError
from ..lowering import Cost, NodeCost
from ._activity import active_values, dependent_results, reached_arguments
from ._analysis import Analysis
from ._background_tasks import CompileTask, Precompilation, submit
from ._checked_jit import CheckedJit
from ._code_cache import (
    SMALL_BYTES,
    CacheInfo,
    CodeCache,
    SmallJit,
    cached_code,
    host_plans_allowed,
    small_jit,
)
from ._compiler_options import can_split_temp_buffers, mapped_options
from ._deferred_errors import deferred_errors
from ._donation import Donated, call_donating, copied
from ._first_steps import MAX_AGE, MAX_TRAININGS
from ._jit import InstrumentedJit
from ._partitioned import PartitionedProgram
from ._program import Program, program_for
from ._program_cache import cache_info, clear_cache, set_cache_limit
from ._program_options import (
    Options,
    current_options,
    options,
    options_from_arguments,
    use_options,
)
from ._program_view import program_parts
from ._retained_memory import retain_freed_memory
from ._staged_inference import InferenceHistory
from ._thread_state import ThreadState
from ._trace_history import History, Trace
from ._train_step import (
    REPLICATED_ARGS,
    Arrays,
    StepSpec,
    UpdateFunction,
    UpdateSpec,
    make_step,
)
from .disk_cache import enable_disk_cache, enable_from_environment
from .protocol import BaseProgram, ProgramCall, ProgramFunction

enable_from_environment()

keep_compiled = enable_disk_cache
Warming = Precompilation
OptionError = ArgumentValueError

__all__ = [
    "MAX_AGE",
    "MAX_TRAININGS",
    "REPLICATED_ARGS",
    "SMALL_BYTES",
    "Analysis",
    "Arrays",
    "BaseProgram",
    "CacheInfo",
    "CheckedJit",
    "CodeCache",
    "CompileTask",
    "Cost",
    "Donated",
    "History",
    "InferenceHistory",
    "InstrumentedJit",
    "NodeCost",
    "Options",
    "PartitionedProgram",
    "Precompilation",
    "Program",
    "ProgramCall",
    "ProgramFunction",
    "SmallJit",
    "StepSpec",
    "ThreadState",
    "Trace",
    "UpdateFunction",
    "UpdateSpec",
    "active_values",
    "cache_info",
    "cached_code",
    "call_donating",
    "can_split_temp_buffers",
    "clear_cache",
    "copied",
    "current_options",
    "deferred_errors",
    "dependent_results",
    "enable_disk_cache",
    "host_plans_allowed",
    "make_step",
    "mapped_options",
    "options",
    "options_from_arguments",
    "program_for",
    "program_parts",
    "reached_arguments",
    "retain_freed_memory",
    "set_cache_limit",
    "small_jit",
    "submit",
    "use_options",
]
