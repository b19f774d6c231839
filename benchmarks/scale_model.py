"""What a step of many hosts costs: a model, fitted on 1, 2 and 4 processes of this machine.

python -m benchmarks.scale_model [--rounds 15]

    ring   2 (n-1) (k alpha + B / (n beta))            gloo: n-1 sums, then n-1 copies
    tree   2 log2(n) k alpha + 2 B (n-1) / (n beta)    NCCL

for k messages of B bytes in all between n hosts, a latency alpha and a bandwidth beta. Here the
bytes of all processes pass through the same cores, so that beta is that of all together, and a
message waits for a core: its latency is multiplied by the programs of a core, of which the load of
the machine tells those that are not ours. alpha, beta and the computation of each network are
fitted together, on sums alone and on whole steps. Messages and bytes are those of the engine's own
layout. Of 1,000 hosts nothing is measured: their latency and bandwidth are assumptions, which the
table names.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import executorkit as mx
from executorkit.display import text_table
from executorkit.parallel._job_messages import messages_of
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


def _crowding(n: int, others: float) -> float:
    """Programs of this machine for each core, if there are more than cores."""
    return max(1.0, (n + others) / (os.cpu_count() or 1))


class Link(NamedTuple):
    """A latency in seconds, and a bandwidth in bytes per second."""

    alpha: float
    beta: float

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
    others = os.getloadavg()[0]
    _fit([*_sums(rounds), *_steps(rounds)], others)
    _draw()


# -- this machine ----------------------------------------------------------------------------------


class Measured(NamedTuple):
    """The seconds that processes took to send something, after a network's step if it is named."""

    network: str
    n: int
    sent: Sent
    seconds: float


def _sums(rounds: int) -> Iterator[Measured]:
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
        for (k, size), seconds in zip(SUMS, times, strict=True):
            yield Measured("", n, Sent(k, k * size), seconds)


def _steps(rounds: int) -> Iterator[Measured]:
    for name in STEPS:
        sent = sent_by(job_network(name), on_cpu=True)
        for n in (1, 2, 4):
            job = Job.of_jax(name, n, one_core=n == 1)
            try:
                job.ask("module", 3)
                (seconds,) = _quick_times(job, ["module"], rounds)
            finally:
                job.end()
            yield Measured(name, n, sent, seconds)


def _fit(measured: Sequence[Measured], others: float) -> None:
    """Fits the model by least squares of relative errors, and prints both."""
    rows = []
    for m in measured:
        turns, crowding = 2 * (m.n - 1), _crowding(m.n, others)
        own = [crowding * (m.network == name) for name in STEPS]
        rows.append([turns * m.sent.messages * crowding, turns * m.sent.bytes, *own])
    times = np.array([m.seconds for m in measured])
    scaled = np.array(rows) / times[:, None]
    fitted, *_ = np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)
    errors = scaled @ fitted - 1
    alpha, beta = fitted[0] * 1e6, 1e-9 / fitted[1]
    print(f"alpha {alpha:,.0f} us, beta {beta:.2f} GB/s of all processes")
    print(f"error {np.median(abs(errors)):.0%} in the median, {abs(errors).max():.0%} at most\n")
    table = [
        [m.network or "sums", str(m.n), str(m.sent.messages), f"{m.sent.bytes:,}",
         _ms(m.seconds * (1 + error)), _ms(m.seconds), f"{error:+.0%}"]
        for m, error in zip(measured, errors, strict=True)
    ]  # fmt: skip
    print(text_table(["", "processes", "messages", "bytes", "model", "measured", "error"], table,
                     right=set(range(1, 7))))  # fmt: skip


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
