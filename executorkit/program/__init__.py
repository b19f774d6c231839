"""Compiled programs: shared between executors of equal graphs, counted, bounded.

They are kept between processes in the user's cache directory: :func:`enable_disk_cache`.
"""

from ..lowering import Cost as Cost, NodeCost as NodeCost
from ._activity import (
    active_values as active_values,
    dependent_results as dependent_results,
    reached_arguments as reached_arguments,
)
from ._analysis import Analysis as Analysis
from ._background_tasks import (
    CompileTask as CompileTask,
    Precompilation as Precompilation,
    forget_workers as forget_workers,
    paused_tasks as paused_tasks,
    submit as submit,
)
from ._code_cache import (
    SMALL_BYTES as SMALL_BYTES,
    CacheInfo as CacheInfo,
    CodeCache as CodeCache,
    cached_code as cached_code,
    fresh_caches as fresh_caches,
)
from ._compilation_log import CompilationCounts as CompilationCounts
from ._compiled_function import CompiledFunction as CompiledFunction, small_jit as small_jit
from ._compiler_options import compiler_options as compiler_options
from ._deferred_errors import deferred_errors as deferred_errors
from ._donation import Donated as Donated, copy_at as copy_at, held_elsewhere as held_elsewhere
from ._first_calls import HostKey as HostKey
from ._host_contents import (
    MADE as MADE,
    HostContents as HostContents,
    HostResult as HostResult,
    MadeContents as MadeContents,
    can_stay as can_stay,
    made as made,
    sharding_of as sharding_of,
)
from ._partitioned import PartitionedProgram as PartitionedProgram
from ._prepared_inference import FedArguments as FedArguments
from ._program import Program as Program, program_for as program_for
from ._program_cache import (
    cache_info as cache_info,
    clear_cache as clear_cache,
    set_cache_limit as set_cache_limit,
)
from ._program_options import (
    Options as Options,
    current_options as current_options,
    interpreter_enabled as interpreter_enabled,
    options as options,
    options_from_arguments as options_from_arguments,
    use_options as use_options,
)
from ._program_view import program_parts as program_parts
from ._retained_memory import retain_freed_memory as retain_freed_memory
from ._trace_history import History as History, Trace as Trace
from ._train_step import (
    REPLICATED_ARGS as REPLICATED_ARGS,
    Arrays as Arrays,
    StepSpec as StepSpec,
    UpdateFunction as UpdateFunction,
    UpdateSpec as UpdateSpec,
    apply_updates as apply_updates,
    make_step as make_step,
)
from .base_program import BaseProgram as BaseProgram, ProgramCall as ProgramCall
from .disk_cache import (
    DiskCacheInfo as DiskCacheInfo,
    clear_disk_cache as clear_disk_cache,
    disable_disk_cache as disable_disk_cache,
    disk_cache_info as disk_cache_info,
    enable_disk_cache as enable_disk_cache,
)
