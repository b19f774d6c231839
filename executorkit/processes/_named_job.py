"""Jobs that are joined without being asked to."""

import os

from ._connection import connect, connected_environment
from ._job_environment import NUMBER


def join_named_job() -> None:
    """Joins the processes of MXNet's launcher or ``executorkit launch``, at the first use of a
    device, since JAX cannot join later. Slurm and MPI also start independent processes, so only a
    dist store joins those."""
    worker = os.environ.get("DMLC_ROLE") == "worker"
    if (worker or NUMBER in os.environ) and connected_environment() is None:
        connect("first use of a device")
