"""The processes of a job, without arrays. ``kv.create("dist_sync")`` calls :func:`connect`."""

from ._connection import (
    connect as connect,
    end_other_roles as end_other_roles,
    join_named_job as join_named_job,
    meet as meet,
    note_checkpoint as note_checkpoint,
    note_step as note_step,
    peer_error as peer_error,
    process_count as process_count,
    process_index as process_index,
    stop_requested as stop_requested,
)
from ._job_environment import (
    ADDRESS as ADDRESS,
    ATTEMPT as ATTEMPT,
    NUMBER as NUMBER,
    RANK as RANK,
    Environment as Environment,
    read_environment as read_environment,
)
