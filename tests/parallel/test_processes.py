"""Several processes: each feeds its own rows, sums and means go over the devices of all of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests.parallel.worker import train

WORKER = Path(__file__).parent / "worker.py"


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _together(processes: int) -> list[dict[str, Any]]:
    port = str(_free_port())
    root = Path(mx.__file__).parents[1]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
    started = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(process), str(processes), port],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for process in range(processes)
    ]  # fmt: skip
    seen = []
    try:
        for process in started:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err[-4000:]
            seen.append(json.loads(out.splitlines()[-1]))
    finally:
        for process in started:
            process.kill()
    return seen


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_train_as_one(processes):
    """Two processes of two devices, and four of one, do what one process of four devices does."""
    expected = train(mx, 0, 1)
    seen = _together(processes)
    assert [s["devices"] for s in seen] == [4] * processes
    assert all(s["mapped"] for s in (*seen, expected))
    for kind in ("grads", "aux"):
        for i, arrays in enumerate(expected[kind]):
            theirs = [a for s in seen for a in s[kind][i]]
            np.testing.assert_allclose(theirs, arrays, rtol=1e-4, atol=1e-6)
    for s in seen:
        for kind in ("params", "states"):
            for name, array in expected[kind].items():
                np.testing.assert_allclose(s[kind][name], array, rtol=1e-5, atol=1e-6)
    metrics = [s["metric"] for s in seen]
    assert np.isclose(np.mean(metrics), expected["metric"], rtol=1e-5)
