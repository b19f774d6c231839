"""Compiled programs: shared between executors of equal graphs, counted, bounded.

To keep compiled programs between processes::

    mx.program.enable_disk_cache("directory")
"""

from ..errors import ArgumentValueError
from ._analysis import Analysis
from ._background_tasks import Precompilation
from ._node_cost import Cost, NodeCost
from ._partitioned import PartitionedProgram
from ._program import Program
from ._program_cache import (
    CacheInfo,
    cache_info,
    clear_cache,
    enable_disk_cache,
    program_for,
    set_cache_limit,
)
from ._program_options import Options, current_options, options
from ._program_report import History, Trace

__all__ = [
    "Analysis",
    "CacheInfo",
    "Cost",
    "History",
    "NodeCost",
    "ArgumentValueError",
    "Options",
    "PartitionedProgram",
    "Program",
    "Trace",
    "Precompilation",
    "cache_info",
    "clear_cache",
    "current_options",
    "enable_disk_cache",
    "options",
    "program_for",
    "set_cache_limit",
]
