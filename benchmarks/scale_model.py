"""What a step of many hosts costs: a model, fitted on 1, 2 and 4 processes of this machine.

python -m benchmarks.scale_model [--rounds 15]

    ring   2 (n-1) (k alpha + B / (n beta))            gloo: n-1 sums, then n-1 copies
    tree   2 log2(n) k alpha + 2 B (n-1) / (n beta)    NCCL

for k messages of B bytes in all between n hosts, a latency alpha and a bandwidth beta. Here the
bytes of all processes pass through the same cores, so that beta is that of all together, and a
message waits for a core: its latency is multiplied by the processes of a core. alpha and beta are
fitted on sums alone; steps of whole networks are predicted by them and by the step of one process
on one core, and beside what is measured. Messages and bytes are those of the engine's own layout.
Of 1,000 hosts nothing is measured: their latency and bandwidth are assumptions, which the table
names.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import executorkit as mx
from executorkit.display import text_table
from executorkit.parallel._joined_processes import messages_of
from tests.models.lstm import lstm

from ._job_networks import job_network, serve_steps
from ._networks import Network, network
from .bench_processes import Job, free_port

#: Messages and bytes of each, of the sums that the model is fitted on.
SUMS = ((1, 4096), (8, 4096), (32, 4096), (1, 1 << 20), (4, 1 << 20), (1, 1 << 22), (1, 1 << 23))
STEPS = ("mlp", "lenet", "chain")
#: Bytes up to which XLA sends arrays of GPUs together.
_COMBINED = 30 << 20


class Sent(NamedTuple):
    """What a step sends: messages, and bytes in all of them."""

    messages: int
    bytes: int


def _crowding(n: int) -> float:
    """Processes of this machine for each core, if there are more than cores."""
    return max(1.0, n / (os.cpu_count() or 1))


class Link(NamedTuple):
    """A latency in seconds, and a bandwidth in bytes per second."""

    alpha: float
    beta: float

    def shared(self, n: int, sent: Sent) -> float:
        """Seconds of a ring of processes on the cores of this machine."""
        latency = sent.messages * self.alpha * _crowding(n)
        return 2 * (n - 1) * (latency + sent.bytes / self.beta)

    def ring(self, n: int, sent: Sent) -> float:
        """Seconds of a ring of hosts."""
        return 2 * (n - 1) * (sent.messages * self.alpha + sent.bytes / n / self.beta)

    def tree(self, n: int, sent: Sent) -> float:
        """Seconds of a tree of hosts, in pieces."""
        steps = 2 * math.ceil(math.log2(n)) if n > 1 else 0
        return steps * sent.messages * self.alpha + 2 * sent.bytes * (n - 1) / n / self.beta


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        _sum_worker(*map(int, sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="number of measurements of each")
    rounds = parser.parse_args().rounds
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    link = _fitted(rounds)
    _compare_steps(link, rounds)
    _draw()


# -- this machine ----------------------------------------------------------------------------------


def _fitted(rounds: int) -> Link:
    """The link of this machine, and a table of the sums that it is fitted on."""
    measured = []
    for n in (2, 4):
        port = free_port()
        command = [sys.executable, "-m", "benchmarks.scale_model", "worker"]
        env = {"JAX_PLATFORMS": "cpu"}
        commands = [([*command, str(rank), str(n), str(port)], env) for rank in range(n)]
        job = Job(commands)
        try:
            times = _quick_times(job, [f"{k},{size}" for k, size in SUMS], rounds)
        finally:
            job.end()
        measured += [(n, Sent(k, k * s), t) for (k, s), t in zip(SUMS, times, strict=True)]
    per_alpha = [Link(1.0, math.inf).shared(n, sent) for n, sent, _ in measured]
    per_byte = [Link(0.0, 1.0).shared(n, sent) for n, sent, _ in measured]
    rows = np.array([per_alpha, per_byte]).T
    times = np.array([t for *_, t in measured])
    (alpha, inverse), *_ = np.linalg.lstsq(rows / times[:, None], np.ones(len(times)), rcond=None)
    link = Link(float(alpha), float(1 / inverse))
    print(f"alpha {link.alpha * 1e6:,.0f} us, beta {link.beta / 1e9:.2f} GB/s of all processes\n")
    table = [
        [str(n), str(sent.messages), f"{sent.bytes:,}", *_compared(link.shared(n, sent), t)]
        for n, sent, t in measured
    ]
    print(text_table(["processes", "messages", "bytes", "model", "measured", "error"], table,
                     right=set(range(6))))  # fmt: skip
    return link


def _compare_steps(link: Link, rounds: int) -> None:
    """Prints the steps of whole networks, predicted by the link and by the step of one process."""
    rows = []
    for name in STEPS:
        sent, alone = sent_by(job_network(name), on_cpu=True), 0.0
        for n in (1, 2, 4):
            job = Job.of_jax(name, n, one_core=n == 1)
            try:
                job.ask("module", 3)
                (seconds,) = _quick_times(job, ["module"], rounds)
            finally:
                job.end()
            alone = alone or seconds
            model = alone * _crowding(n) + link.shared(n, sent)
            error = _compared(model, seconds) if n > 1 else ("", _ms(seconds), "")
            rows.append([name, str(n), str(sent.messages), *error])
    print("\nSteps of Module, of which only that of one process is known to the model")
    print(text_table(["network", "processes", "messages", "model", "measured", "error"], rows,
                     right=set(range(1, 6))))  # fmt: skip


def _quick_times(job: Job, modes: Sequence[str], rounds: int) -> list[float]:
    """Seconds of steps, those that a fifth of the measurements is below: other load of the machine
    only adds to them."""
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    for mode in modes:
        job.ask(mode, 2)
    for _ in range(rounds):
        for mode in modes:
            times[mode].append(job.seconds(mode, 3))
    return [float(np.quantile(t, 0.2)) for t in times.values()]


def _compared(model: float, measured: float) -> tuple[str, str, str]:
    return _ms(model), _ms(measured), f"{model / measured - 1:+.0%}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms"


def _sum_worker(rank: int, n: int, port: int) -> None:
    """Sums over the processes, as a step has them."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=n, process_id=rank)
    mesh = Mesh(np.array(jax.devices()), ("d",))
    sharding = NamedSharding(mesh, PartitionSpec("d"))

    def total(arrays: Any) -> Any:
        return lax.psum(arrays, "d")

    spec = PartitionSpec("d")
    summed = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec,
                                   check_vma=False))  # fmt: skip
    modes: dict[str, Callable[[], object]] = {}
    for k, size in SUMS:
        arrays = [
            jax.make_array_from_process_local_data(sharding, np.ones((1, size // 4), np.float32))
            for _ in range(k)
        ]
        modes[f"{k},{size}"] = lambda arrays=arrays: jax.block_until_ready(summed(arrays))
    serve_steps(modes, lambda mode: {})


# -- many hosts ------------------------------------------------------------------------------------


def sent_by(net: Network, on_cpu: bool) -> Sent:
    """What a step of a network sends, by the layout of the engine; on GPUs XLA sends arrays
    together."""
    symbol = net.build(mx)
    args, _, states = symbol.infer_shape(**net.shapes)
    names = symbol.list_arguments()
    shapes = [s for n, s in zip(names, args, strict=True) if n not in net.shapes]
    sizes = [math.prod(s) for s in (*shapes, *states)]
    layout = messages_of(tuple((n, jnp.dtype("float32")) for n in (*sizes, 1)), on_cpu)
    count = 4 * sum(sizes) + 4
    if on_cpu:
        return Sent(len(layout.together) + len(layout.alone), count)
    return Sent(math.ceil(count / _COMBINED), count)


def _large_lstm() -> Network:
    """A language model of a gigabyte; of two words, since their number changes nothing here."""
    hidden, words = 2048, 44_000
    shapes: dict[str, tuple[int, ...]] = {"data": (1, 2), "softmax_label": (1, 2)}
    for layer in range(2):
        shapes[f"l{layer}_init_h"] = shapes[f"l{layer}_init_c"] = (1, hidden)
    build = partial(lstm, steps=2, layers=2, hidden=hidden, embed=hidden, words=words)
    return Network(build, shapes, {})


#: Assumed: Ethernet of 100 Gbit/s under TCP, and under NCCL.
_GLOO, _NCCL = Link(100e-6, 12.5e9), Link(20e-6, 12.5e9)
#: Assumed seconds of a step of one host, two thirds of them backward.
_ALONE = {"ResNet-50": 0.1, "LSTM": 0.4}


def _draw() -> None:
    """Prints the steps of up to 1,000 hosts."""
    networks = {"ResNet-50": network("resnet50", 1, 224), "LSTM": _large_lstm()}
    rows = []
    for name, net in networks.items():
        cpu, gpu, alone = sent_by(net, True), sent_by(net, False), _ALONE[name]
        for n in (2, 8, 64, 1000):
            ring, tree = _GLOO.ring(n, cpu), _NCCL.tree(n, gpu)
            hidden = max(0.0, tree - alone * 2 / 3)  # XLA overlaps sums with backward
            rows.append(
                [name, f"{cpu.bytes / 1e6:,.0f} MB", str(n),
                 str(cpu.messages), _ms(ring), f"{alone / (alone + ring):.0%}",
                 str(gpu.messages), _ms(tree), f"{alone / (alone + hidden):.0%}"]
            )  # fmt: skip
    print(f"\nComputed, for {_GLOO.beta / 1e9} GB/s between hosts and steps of one host of "
          f"{', '.join(f'{s} s ({n})' for n, s in _ALONE.items())}: a ring of gloo with "
          f"{_GLOO.alpha * 1e6:.0f} us, a tree of NCCL with {_NCCL.alpha * 1e6:.0f} us, which "
          "overlaps with backward")  # fmt: skip
    print(text_table(["network", "sent", "hosts", "messages", "ring", "efficiency",
                      "messages", "tree", "efficiency"], rows, right=set(range(1, 9))))  # fmt: skip


if __name__ == "__main__":
    main()
