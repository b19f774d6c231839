"""``dataloader_cases.py``, in a process of its own: a fork of one that has run thousands of tests
takes seconds."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes


def test_loaders():
    cases = Path(__file__).with_name("dataloader_cases.py")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        str(cases),
    ]
    # Background shells ignore SIGINT, and so would this process: one of its cases is interrupted.
    process = subprocess.run(
        command, cwd=cases.parents[2], capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-8000:]
    assert " passed" in process.stdout
