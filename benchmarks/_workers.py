"""The other side of a comparison, in a process of its own that answers one call at a time.

A worker prints the seconds of its bind and of the first call of each mode as JSON, with a number
that tells its results of inference apart (``mark``); then it answers lines: ``mode`` or
``mode<tab>calls`` with the seconds of a call, ``memory`` with the most bytes that the process has
held. No jax or executorkit in here: workers have Pythons of their own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


class Worker:
    """A process that runs a module of this package. ``first`` is what it told first."""

    def __init__(
        self, python: str, module: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> None:
        self._python = python
        self.process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.first: dict[str, float] = json.loads(self._answer())

    def ask(self, line: str) -> float:
        """The answer to one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def seconds(self, mode: str, calls: int = 1) -> float:
        """Seconds of a call, the mean of some."""
        return self.ask(f"{mode}\t{calls}")

    def end(self) -> None:
        """Has the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._python} ended: has it what it needs?")
        return line


def timed(function: Callable[[], object], calls: int = 1) -> float:
    """Seconds of a call of a function that waits for its results, the mean of some."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def mark(result: Any) -> float:
    """A number that differs for different results, by about as much as they do."""
    values = np.asarray(result, np.float64).ravel()
    return float((values * np.cos(np.arange(values.size))).sum() / np.abs(values).max())


def peak_memory() -> int:
    """The most bytes that this process has held. (``ru_maxrss`` begins with its parent's.)"""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(
    modes: Mapping[str, Callable[[], Any]], bind: float, order: Sequence[str] | None = None
) -> None:
    """Tells what binding and the first calls took, and answers what is asked."""
    first = {"bind": bind}
    for mode in order or modes:
        first[mode] = timed(modes[mode])
        if mode == "read":
            first["mark"] = mark(modes[mode]())
    print(json.dumps(first), flush=True)
    for line in sys.stdin:
        mode, _, calls = line.rstrip("\n").partition("\t")
        if mode == "memory":
            print(peak_memory(), flush=True)
        else:
            print(timed(modes[mode], int(calls or 1)), flush=True)
