"""A process of a job that fails ends all others, with its reason, and with whole checkpoints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import executorkit as mx

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]


def ended_job(fault: str, failing: int, batch: int, folder: Path) -> tuple[int, str, float]:
    """The status of a job of two processes, what it has printed, and the seconds from the fault to
    its end."""
    script = ROOT / "tests/processes/faulty_training.py"
    arguments = [fault, str(failing), str(batch), str(folder)]
    command = [sys.executable, "-m", "executorkit", "launch", "-n", "2", str(script), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    seconds = time.time() - Path(folder, "failed").stat().st_mtime
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True).stdout
    assert not left
    return done.returncode, done.stdout + done.stderr, seconds


def check_checkpoint(folder: Path) -> int:
    """The number of the newest checkpoint, all of which are whole."""
    epochs = sorted(int(p.stem.rpartition("-")[2]) for p in folder.glob("net-*.params"))
    for epoch in epochs:
        mx.model.load_checkpoint(str(folder / "net"), epoch)
    assert not list(folder.glob("*.tmp"))
    return epochs[-1]


@pytest.mark.parametrize(
    ("fault", "failing", "status", "reason"),
    [
        ("kill", 1, 137, "it was killed"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("raise", 0, 1, "it ended by ValueError in step"),
                ("kill", 0, 137, "another process is gone|it was killed"),
                ("int", 1, 130, r"it got Ctrl-C \(SIGINT\)"),
                ("exit", 1, 1, "its script has ended"),
            )
        ),
    ],
)
def test_all_end_when_one_fails(tmp_path, fault, failing, status, reason):
    returned, text, _ = ended_job(fault, failing, 25, tmp_path)
    assert returned == status
    assert re.search(f"(rank {failing}|another process) is gone", text) or status in (1, 130)
    assert re.search(reason, text) or f"rank {failing} was the first that failed" in text
    assert not re.search(r"\*\*\* Check failure stack trace|@ +0x|Terminating process", text)
    assert check_checkpoint(tmp_path) == 2


@pytest.mark.slow
def test_all_stop_at_one_step_on_sigterm(tmp_path):
    status, text, _ = ended_job("term", 1, 25, tmp_path)
    assert status == 143
    line = r"\[%d\] WARNING:root:Epoch\[(\d+)\] stops early, after its checkpoint: SIGTERM"
    epochs = [re.findall(line % rank, text) for rank in (0, 1)]
    assert epochs[0] == epochs[1]
    assert check_checkpoint(tmp_path) == int(epochs[0][0]) + 1
