"""Processes that fill one disk cache at a time and are killed at random moments.

python -m tests._tools.cache_filling DIRECTORY KILLS PROCESSES SEED

Each process binds small graphs, whose programs it finds on disk or compiles and stores, and checks
their results. The last line of the output is JSON: the number of kills, the problems that processes
told, and what is in the directory at the end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

# XLA reads its flags when JAX starts: code is not optimised here, so that there is much of it.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ["EXECUTORKIT_INTERPRET"] = "0"

import numpy as np

import executorkit as mx
from executorkit.program.disk_cache.store import DiskCache
from executorkit.program.disk_cache.switch import set_disk_cache

#: Number of different programs, and maximum size of the cache in bytes: half of them have room.
PROGRAMS, MAX_BYTES = 24, 24 * 4096
#: Seconds until a process is killed, on average.
MEAN_LIFE = 1.0


def fill(seed: int) -> None:
    """Runs programs until the process is killed; SystemExit for a wrong result."""
    choose = random.Random(seed)
    while True:
        k = choose.randrange(1, PROGRAMS + 1)
        executor = (mx.sym.Variable("x") * k + 1).simple_bind(mx.cpu(), "null", x=(k,))
        for number in (1.0, 2.0):
            result = executor.forward(x=mx.nd.ones((k,)) * number)[0].asnumpy()
            if not np.array_equal(result, np.full(k, number * k + 1, np.float32)):
                raise SystemExit(f"{k}: {result}")
        mx.program.clear_cache()


def started(work: Callable[[], object], problems: Path) -> int:
    """The number of a new process that works; an exception of it is added to a file."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    except BaseException:
        with open(problems, "a") as file:
            file.write(traceback.format_exc())
    os._exit(0)


def kill(process: int) -> None:
    """Kills a process and waits for its end."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def await_program(folder: Path, problems: Path) -> None:
    """Waits until a program is on disk, which takes longer than a life on a busy machine."""
    for _ in range(6000):
        if any(folder.glob("*.program")) or problems.stat().st_size:
            return
        time.sleep(0.01)


def main(directory: str, kills: int, processes: int, seed: int) -> dict[str, object]:
    """Kills processes, and has a last one count what they left."""
    choose, folder = random.Random(seed), Path(directory)
    problems = folder.with_suffix(".problems")
    problems.touch()
    files = DiskCache(folder, MAX_BYTES)
    set_disk_cache(files)
    running: list[int] = []
    for begun in range(kills):
        if len(running) == processes:
            await_program(folder, problems)
            time.sleep(choose.uniform(0, 2 * MEAN_LIFE / processes))
            kill(running.pop(choose.randrange(processes)))
        running.append(started(lambda: fill(seed + begun), problems))  # noqa: B023 - it is a fork
    for process in running:
        kill(process)
    leftovers = len(list(folder.glob("*.tmp")))
    files.trim()
    stored = [file.path.name for file in files.files()]
    return {
        "kills": kills,
        "problems": problems.read_text(),
        "programs": sum(name.endswith(".program") for name in stored),
        "damaged": [name for name in stored if files.read(name) is None],
        "bytes": sum(file.size for file in files.files()),
        "leftovers": leftovers,
        "left": [path.name for path in folder.iterdir() if path.suffix == ".tmp"],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # JAX warns of every fork
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
