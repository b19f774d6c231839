"""Cost of a training step of several processes beside hand-written JAX and MXNet's dist_sync.

python -m benchmarks.bench_processes [--only mlp] [--processes 2 4] [--pairs 30] [--memory]

All processes run on this machine, over its loopback, and share its cores: ratios say what a step
costs besides its computation. Steps are those of ``Module`` with ``kvstore='dist_sync'`` and of
``training.Step``; ``jax.jit`` of global arrays with NamedSharding; ``shard_map`` with one psum of
the concatenated gradients; and MXNet's, with one server for each worker, where
EXECUTORKIT_ORACLE_PYTHON names a Python that has it. They alternate. Parameters of all have to
agree first. ``--memory`` takes 1,000 steps of the chain in place of that.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import executorkit as mx
from executorkit.display import text_table

from ._job_networks import ANSWER, JOBS, job_network
from ._measure import ORACLE, check

OURS, THEIRS = ("module", "step"), ("jit", "fused")
#: Number of steps after which the parameters of all have to agree.
STEPS = 3
#: Seconds of the steps of one measurement.
_LONG = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names to measure")
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--pairs", type=int, default=30, help="number of measurements of each")
    parser.add_argument("--memory", action="store_true", help="memory over 1,000 steps of a chain")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    if options.memory:
        for n in options.processes:
            _memory(n)
        return
    times, firsts, wires = [], [], []
    for name in JOBS:
        for n in options.processes:
            if options.only in name:
                row = measure(name, n, options.pairs)
                times.append(row.times)
                firsts.append(row.firsts)
                wires.append(row.wires)
    right = set(range(1, 8))
    print(text_table(["network", "processes", "Module", "jit / Module", "one psum / Module",
                      "MXNet / Module", "Step", "jit / Step"], times, right=right))  # fmt: skip
    print("\nFirst step, seconds")
    names = ["network", "processes", "Module", "Step", "jit", "one psum", "MXNet"]
    print(text_table(names, firsts, right=right))
    print("\nBytes on the wire, in a step of all")
    print(text_table(["network", "processes", "messages", "Module", "/ 2(n-1)P", "jit / Module",
                      "one psum / Module", "MXNet / Module"], wires, right=right))  # fmt: skip


class Rows(NamedTuple):
    """The rows of a network in the three tables."""

    times: list[str]
    firsts: list[str]
    wires: list[str]


def measure(name: str, n: int, pairs: int) -> Rows:
    """Measures a network in ``n`` processes."""
    jobs: dict[str, Job] = dict.fromkeys((*OURS, *THEIRS), Job.of_jax(name, n))
    ended = [jobs["module"]]
    if ORACLE in os.environ and n > 1:
        jobs["mxnet"], servers = Job.of_mxnet(name, n)
        ended += [jobs["mxnet"], servers]
    try:
        first = {mode: job.seconds(mode, 1) for mode, job in jobs.items()}
        for mode, job in jobs.items():
            job.ask(mode, STEPS - 1)
        _check(name, n, jobs)
        calls = max(1, int(_LONG / jobs["module"].seconds("module", 3)))
        times: dict[str, list[float]] = {mode: [] for mode in jobs}
        for i in range(pairs):
            for mode in (jobs, reversed(jobs))[i % 2]:
                jobs[mode].ask(mode, 1)  # wakes the threads, and does not count
                times[mode].append(jobs[mode].seconds(mode, calls))
        wire = {mode: _bytes_of_step(mode, job) for mode, job in jobs.items()}
        (messages, *_) = jobs["module"].ask("collectives", "module")
    finally:
        for job in ended:
            job.end()

    def beside(mode: str, ours: str = "module") -> str:
        pairs_of = zip(times.get(mode, ()), times[ours], strict=False)
        ratios = [theirs / own for theirs, own in pairs_of]
        return f"{median(ratios):.2f}" if ratios else ""

    def sent(mode: str) -> str:
        return f"{wire[mode] / wire['module']:.2f}" if wire.get(mode) and wire["module"] else ""

    bound = 2 * (n - 1) * sum(_parameter_bytes(name).values())
    key = [name, str(n)]
    return Rows(
        [*key, _ms(median(times["module"])), *map(beside, (*THEIRS, "mxnet")),
         _ms(median(times["step"])), beside("jit", "step")],
        [*key, *(f"{first[m]:.2f}" if m in first else "" for m in (*OURS, *THEIRS, "mxnet"))],
        [*key, str(messages["operands"]) if n > 1 else "", f"{wire['module']:,.0f}",
         f"{wire['module'] / bound:.2f}" if bound else "", *map(sent, (*THEIRS, "mxnet"))],
    )  # fmt: skip


def _check(name: str, n: int, jobs: Mapping[str, Job]) -> None:
    """RuntimeError unless all have made the same steps. By ``jit``, batch statistics are those of
    all rows, and the steps others."""
    net = job_network(name)
    normalised = name == "resnet18" and n > 1
    expected: dict[str, np.ndarray] = jobs["fused"].parameters("fused")[0]
    start = {k: net.value(k, x.shape) for k, x in expected.items()}
    for mode, job in jobs.items():
        if normalised and mode == "jit":
            continue
        ranks = job.parameters(mode)
        for k, value in expected.items():
            check(ranks[0][k] - start[k], value - start[k], f"{mode}: {k}")
            if any(r[k].tobytes() != ranks[0][k].tobytes() for r in ranks):
                raise RuntimeError(f"{mode}: {k} differs between the processes")


def _bytes_of_step(mode: str, job: Job, calls: int = 5) -> float:
    """Bytes on the wire, counted by the sockets: what workers receive, and send to servers."""
    answers = job.ask(mode, calls)
    received = sum(a["received"] for a in answers)
    sent = sum(a["sent"] for a in answers) if mode == "mxnet" else 0
    return (received + sent) / calls


def _parameter_bytes(name: str) -> dict[str, int]:
    net = job_network(name)
    symbol = net.build(mx)
    shapes = zip(symbol.list_arguments(), symbol.infer_shape(**net.shapes)[0], strict=True)
    return {n: 4 * int(np.prod(s)) for n, s in shapes if n not in net.shapes}


def _memory(n: int) -> None:
    """Prints the memory of a process over 1,000 steps of the chain."""
    job = Job.of_jax("chain", n)
    try:
        job.ask("module", 100)
        sizes = []
        for _ in range(10):
            job.ask("module", 100)
            sizes.append([x / 2**20 for x in job.ask("memory")])
    finally:
        job.end()
    own = [row[0] for row in sizes]
    print(f"{n} processes: {own[0]:.0f} MiB after 200 steps, {own[-1]:.0f} after 1,100; "
          f"from {min(own):.0f} to {max(own):.0f}")  # fmt: skip


def _ms(value: float) -> str:
    return f"{value * 1e3:,.2f} ms"


class Job:
    """Processes that take steps together, as they are asked to."""

    def __init__(self, commands: Sequence[tuple[Sequence[str], Mapping[str, str]]]) -> None:
        self._processes = [
            subprocess.Popen(
                command, cwd=Path(__file__).parents[1], env={**os.environ, **env}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
            for command, env in commands
        ]  # fmt: skip

    @classmethod
    def of_jax(cls, name: str, n: int, one_core: bool = False) -> Job:
        """Processes with our steps and those that were written by hand."""
        port = str(free_port())
        bound = ["taskset", "-c", "0"] if one_core else []
        command = [*bound, sys.executable, "-m", "benchmarks._job_jax", name]
        env = {"JAX_PLATFORMS": "cpu"}
        return cls([([*command, str(rank), str(n), port], env) for rank in range(n)])

    @classmethod
    def of_mxnet(cls, name: str, n: int) -> tuple[Job, Job]:
        """Workers, and their servers and scheduler."""
        command = [os.environ[ORACLE], "-m", "benchmarks._job_mxnet", name]
        env = {
            "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(free_port()),
            "DMLC_NUM_WORKER": str(n), "DMLC_NUM_SERVER": str(n),
        }  # fmt: skip
        roles = ["scheduler", *["server"] * n]
        servers = cls([([*command, "0"], {**env, "DMLC_ROLE": role}) for role in roles])
        own = {**env, "DMLC_ROLE": "worker"}
        return cls([([*command, str(rank)], own) for rank in range(n)]), servers

    def ask(self, *line: object) -> list[Any]:
        """The answers of all processes to one line, in which RANK is the number of each."""
        for rank, process in enumerate(self._processes):
            assert process.stdin is not None
            text = "\t".join(map(str, line)).replace("RANK", str(rank))
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
        answers = []
        for process in self._processes:
            assert process.stdout is not None
            text = next((x for x in process.stdout if x.startswith(ANSWER)), None)
            if text is None:
                raise RuntimeError(f"a process ended; asked {line}")
            answers.append(json.loads(text.removeprefix(ANSWER)))
        return answers

    def seconds(self, mode: str, calls: int) -> float:
        """Seconds of a step: the mean, of the slowest process."""
        return max(a["seconds"] for a in self.ask(mode, calls))

    def parameters(self, mode: str) -> list[dict[str, np.ndarray]]:
        """The parameters in all processes."""
        with tempfile.TemporaryDirectory() as folder:
            answers = self.ask("parameters", mode, f"{folder}/RANK.npz")
            return [dict(np.load(f"{folder}/{rank}.npz")) for rank in range(len(answers))]

    def end(self) -> None:
        """Ends the processes."""
        for process in self._processes:
            process.kill()
            process.wait()


def free_port() -> int:
    """Returns an unused port of this machine."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


if __name__ == "__main__":
    main()
