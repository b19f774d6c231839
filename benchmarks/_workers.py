"""The other side of a comparison, in a separate process that answers one call at a time.

A worker prints the seconds of its bind and of the first call of each mode as JSON, with a checksum
of its inference; then it answers lines: ``mode`` or ``mode<tab>calls`` with the seconds of a call,
``memory`` with the peak of the process's memory in bytes. This file imports neither jax nor
executorkit: workers have Pythons of their own.
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

#: Time in seconds after which idle threads of other libraries sleep.
PAUSE = 0.25
#: Time in seconds until a machine that was idle computes at its full rate: a MobileNet's first call
#: after a pause took 10.8 ms, the fifth 9.9, one of many 7.2.
_WAKING = 0.08


class Worker:
    """A process that runs a module of this package. ``first`` holds its first answer."""

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
        """Seconds of a call: the mean of several."""
        return self.ask(f"{mode}\t{calls}")

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self._python} ended: are the modules that it needs installed there?"
            )
        return line


def timed(function: Callable[[], object], calls: int = 1) -> float:
    """Seconds of a call of a function that waits for its results: the mean of several."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def wake(call: Callable[[], object]) -> None:
    """Makes calls that do not count: threads wake up, and weights that others displaced come back
    into the caches."""
    end = time.perf_counter() + _WAKING
    call()
    while time.perf_counter() < end:
        call()


def checksum(result: Any) -> float:
    """A number that differs for different results, by about as much as they do."""
    values = np.asarray(result, np.float64).ravel()
    return float((values * np.cos(np.arange(values.size))).sum() / np.abs(values).max())


def peak_memory() -> int:
    """Peak of this process's memory in bytes, not of its parent's as in ``ru_maxrss``."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(
    modes: Mapping[str, Callable[[], Any]], bind: float, order: Sequence[str] | None = None
) -> None:
    """Prints the seconds of binding and of the first calls, then answers lines from stdin."""
    first = {"bind": bind}
    for mode in order or modes:
        first[mode] = timed(modes[mode])
        if mode == "read":
            first["checksum"] = checksum(modes[mode]())
    print(json.dumps(first), flush=True)
    for line in sys.stdin:
        mode, _, calls = line.rstrip("\n").partition("\t")
        if mode == "memory":
            print(peak_memory(), flush=True)
        else:
            print(timed(modes[mode], int(calls or 1)), flush=True)
