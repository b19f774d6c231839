"""Compiled programs: shared between executors of equal graphs, counted, bounded.

To keep compiled programs between processes::

    mx.program.keep_compiled("directory")
"""

from ._analysis import Analysis
from ._background import Warming
from ._cache import CacheInfo, cache_info, clear_cache, keep_compiled, program_for, set_cache_limit
from ._cost import Cost, NodeCost
from ._history import History, Trace
from ._options import OptionError, Options, current_options, options
from ._partitioned import PartitionedProgram
from ._program import Program

__all__ = [
    "Analysis",
    "CacheInfo",
    "Cost",
    "History",
    "NodeCost",
    "OptionError",
    "Options",
    "PartitionedProgram",
    "Program",
    "Trace",
    "Warming",
    "cache_info",
    "clear_cache",
    "current_options",
    "keep_compiled",
    "options",
    "program_for",
    "set_cache_limit",
]
