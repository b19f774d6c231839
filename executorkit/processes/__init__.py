"""The processes of a job: finding the others, and ending with them.

Nothing here knows of arrays. ``kv.create("dist_sync")`` calls :func:`connect`.
"""

from ._connection import (
    connect as connect,
    connected_environment as connected_environment,
    end_other_roles as end_other_roles,
    process_count as process_count,
    process_index as process_index,
)
from ._job_environment import (
    ADDRESS as ADDRESS,
    ATTEMPT as ATTEMPT,
    NUMBER as NUMBER,
    RANK as RANK,
    Environment as Environment,
    read_environment as read_environment,
)
