"""``dataloader_cases.py``, in a process of its own: a fork of one that has run thousands of tests
takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

#: Runs pytest. A background shell's processes ignore SIGINT, which one of the cases waits for.
CHILD = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main())
"""


def test_loaders():
    cases = Path(__file__).with_name("dataloader_cases.py")
    command = [sys.executable, "-c", CHILD, "-q", "-n", "0", "-p", "no:cacheprovider", str(cases)]
    process = subprocess.run(
        command, cwd=cases.parents[2], capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stdout[-8000:]
    assert " passed" in process.stdout
