"""Data parallelism: one program on every device, each with its slice of the batch."""

from typing import TYPE_CHECKING

from .._support.lazy_modules import lazy_modules as _lazy_modules

if TYPE_CHECKING:
    from ._batch_transfer import (
        BatchInput as BatchInput,
        assign_scattered as assign_scattered,
        gather as gather,
        split_input_slice as split_input_slice,
    )
    from ._data_parallel_core import (
        DataParallel as DataParallel,
        DataParallelCore as DataParallelCore,
        options_with as options_with,
        update_metric as update_metric,
    )
    from ._group_inspection import (
        check_group_finite as check_group_finite,
        group_label as group_label,
        group_parts as group_parts,
    )
    from ._group_update import (
        all_reduce as all_reduce,
        attach_replicated as attach_replicated,
        mean_parameters as mean_parameters,
        set_parameters as set_parameters,
        share_first as share_first,
        source_of as source_of,
        state_sharding_of as state_sharding_of,
        sum_arrays_over_job as sum_arrays_over_job,
        update_by_sum as update_by_sum,
        update_parameters as update_parameters,
        update_together as update_together,
    )
    from ._job_messages import lockstep as lockstep
    from ._job_steps import (
        JointEpoch as JointEpoch,
        bytes_of_first as bytes_of_first,
        first_of_job as first_of_job,
        note_joint_step as note_joint_step,
    )
    from ._pmap_executor import (
        PmapExecutor as PmapExecutor,
        PmapProgram as PmapProgram,
        reduce_replicated as reduce_replicated,
    )
    from ._replicas import (
        ContextGroups as ContextGroups,
        Replicas as Replicas,
        can_replicate as can_replicate,
        replica_contexts as replica_contexts,
        replica_workloads as replica_workloads,
        traffic as traffic,
    )
    from ._replicated_array import (
        MemberStorage as MemberStorage,
        PerDevice as PerDevice,
        ReplicatedArray as ReplicatedArray,
        StackedPart as StackedPart,
        replicate as replicate,
        replicated as replicated,
        scattered_parts as scattered_parts,
    )
    from ._sliced_group import (
        DataParallelExecutorGroup as DataParallelExecutorGroup,
        ExecutorGroup as ExecutorGroup,
        check_arguments as check_arguments,
    )
else:
    #: One device needs few of them.
    __getattr__, __dir__ = _lazy_modules(__name__)
