"""Bounds of the Python calls that a step makes; they may only fall.

``python -m tests._hot_paths PATH`` prints where the calls of a path are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests import _hot_paths
from tests._tools.processes import ROOT

#: Maximum number of Python calls of each path; programs from the disk cache take a few more calls.
BOUNDS = {
    "inference forward": 27,
    "eager 2 * a + b": 32,
    "eager x[2:5], x[2]": 10,
    "eager dot of 128 x 128": 19,
    "Module step": 202,
    "Gluon step, hybridized": 258,
    "Gluon step, plain": 257,
}


def test_calls_of_hot_paths() -> None:
    # In a process of its own: after other tests a step may ask whether its shapes are new ones.
    command = [sys.executable, "-m", "tests._hot_paths", "--json"]
    environment = {k: v for k, v in os.environ.items() if k != "EXECUTORKIT_INTERPRET"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    paths = json.loads(result.stdout)
    assert paths.keys() == BOUNDS.keys()
    for path, functions in paths.items():
        most = sorted(functions.items(), key=lambda x: -x[1])
        counts = "\n".join(f"{calls:5} {function}" for function, calls in most)
        assert sum(functions.values()) <= BOUNDS[path], f"{path}:\n{counts}"


def test_counts_are_of_the_package_alone() -> None:
    count = _hot_paths.count_calls(lambda: sorted([2, 1], key=lambda x: x))
    assert (count.calls, count.files) == (0, 0)
