"""Data parallelism: one program on every device, each with its slice of the batch."""

from ._batch_transfer import BatchInput, assign_scattered, gather
from ._data_parallel import DataParallel
from ._data_parallel_core import DataParallelCore, update_metric
from ._group_parameters import all_reduce, mean_parameters, set_parameters
from ._group_snapshots import check_group_finite
from ._group_view import group_label, group_parts
from ._pmap_executor import PmapExecutor
from ._pmap_program import reduce_replicated
from ._replica_arrays import ContextGroups
from ._replicas import Replicas, traffic
from ._replicated_array import PerDevice, ReplicatedArray
from ._replicated_state import broadcast_first, replicated_state
from ._sliced_group import DataParallelExecutorGroup as SlicedExecutorGroup
from ._sliced_group import check_arguments
from ._slicing import split_input_slice

__all__ = [
    "BatchInput",
    "ContextGroups",
    "DataParallel",
    "DataParallelCore",
    "PerDevice",
    "PmapExecutor",
    "Replicas",
    "ReplicatedArray",
    "SlicedExecutorGroup",
    "all_reduce",
    "assign_scattered",
    "broadcast_first",
    "check_arguments",
    "check_group_finite",
    "gather",
    "group_label",
    "group_parts",
    "mean_parameters",
    "reduce_replicated",
    "replicated_state",
    "set_parameters",
    "split_input_slice",
    "traffic",
    "update_metric",
]
