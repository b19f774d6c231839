"""One of the processes of ``test_processes``: python worker.py PROCESS PROCESSES PORT."""

from __future__ import annotations

from tests._tools.processes import run_worker
from tests.parallel.job_scenarios import DEVICES, run

if __name__ == "__main__":
    run_worker(run, DEVICES)
