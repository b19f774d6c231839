"""Runs a test's worker in several processes that are connected by ``jax.distributed``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run_processes(worker: str | Path, processes: int) -> list[dict[str, Any]]:
    """The results of all processes; ``worker`` is a script that calls :func:`run_worker`."""
    port = str(_free_port())
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [sys.executable, str(ROOT / worker), str(process), str(processes), port],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for process in range(processes)
    ]  # fmt: skip
    results = []
    try:
        for process in started:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err[-4000:]
            results.append(json.loads(out.splitlines()[-1]))
    finally:
        for process in started:
            process.kill()
    return results


def run_worker(work: Callable[[Any, int, int], dict[str, Any]], devices: int) -> None:
    """Connects to the other processes, which share ``devices`` CPU devices, works, and prints."""
    import jax

    process, processes, port = map(int, sys.argv[1:])
    jax.config.update("jax_num_cpu_devices", devices // processes)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=processes, process_id=process)
    import executorkit as mx

    result = work(mx, process, processes)
    print(json.dumps({**result, "devices": jax.device_count()}))


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
