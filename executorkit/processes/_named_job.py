"""Jobs that are joined without being asked to."""

import os

from ._connection import connect, connected_environment
from ._job_environment import NUMBER


def join_named_job() -> None:
    """Joins the processes that MXNet's launcher or ``executorkit launch`` has started, at the first
    use of a device: later JAX could not. Jobs of Slurm and MPI are joined by a dist store alone,
    since these also start processes that have nothing to do with each other.
    """
    worker = os.environ.get("DMLC_ROLE") == "worker"
    if (worker or NUMBER in os.environ) and connected_environment() is None:
        connect("first use of a device")
