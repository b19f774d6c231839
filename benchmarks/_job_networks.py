"""What the processes of a job train in ``bench_processes``, for MXNet and executorkit alike, and
how they answer. Imports neither mxnet nor jax nor executorkit: workers have Pythons of their own.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ._networks import Network, Shape, network

MOMENTUM = 0.9
#: Rows of one process, pixels of a side or number of layers, and learning rate, by network.
JOBS: dict[str, tuple[int, int, float]] = {
    "mlp": (64, 28, 0.01), "lenet": (32, 28, 0.01), "chain": (64, 200, 2e-5),
    "resnet18": (4, 64, 0.01),
}  # fmt: skip

#: Begins the line of an answer: libraries print too.
ANSWER = "answer: "


class _Chain(Network):
    """Layers of 8 x 8 without bias, whose product is near to the identity."""

    def value(self, name: str, shape: Shape) -> np.ndarray:
        value = super().value(name, shape)
        if not name.startswith("fc"):
            return value
        noise = np.random.RandomState(int(name[2:].split("_")[0])).randn(*shape)
        return (np.eye(*shape) + 0.02 * noise).astype(np.float32)


def _chain(mx: Any, depth: int) -> Any:
    x = mx.sym.Variable("data")
    for i in range(depth):
        x = mx.sym.FullyConnected(x, num_hidden=8, no_bias=True, name=f"fc{i}")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def job_network(name: str) -> Network:
    """A network of ``JOBS``."""
    rows, size, _ = JOBS[name]
    if name != "chain":
        return network(name, rows, size)
    shapes = {"data": (rows, 8), "softmax_label": (rows,)}
    return _Chain(partial(_chain, depth=size), shapes, {"softmax_label": 8})


def rank_inputs(net: Network, rank: int) -> dict[str, np.ndarray]:
    """The batch of one process, which differs from those of others."""
    data, label = net.inputs().values()
    return {"data": data * np.float32(1 + 0.1 * rank), "softmax_label": np.roll(label, rank)}


def joined_module(mx: Any, name: str, rank: int, kvstore: str) -> tuple[Any, Any]:
    """A module as ``fit`` leaves it before the first batch, and a batch."""
    net, rate = job_network(name), JOBS[name][2]
    symbol = net.build(mx)
    module = mx.mod.Module(symbol, context=mx.cpu())
    data, label = net.shapes.items()
    module.bind([data], [label])
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**net.shapes)[0], strict=True))
    states = zip(symbol.list_auxiliary_states(), symbol.infer_shape(**net.shapes)[2], strict=True)
    args = {n: mx.nd.array(net.value(n, s)) for n, s in shapes.items() if n not in net.shapes}
    module.init_params(
        arg_params=args, aux_params={n: mx.nd.array(net.value(n, s)) for n, s in states}
    )
    options = {"learning_rate": rate, "momentum": MOMENTUM}
    module.init_optimizer(kvstore=kvstore, optimizer="sgd", optimizer_params=options)
    inputs = [mx.nd.array(x) for x in rank_inputs(net, rank).values()]
    return module, mx.io.DataBatch(inputs[:1], inputs[1:])


def contents(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The contents of NDArrays by name."""
    return {n: a.asnumpy() for n, a in arrays.items()}


def socket_bytes() -> tuple[int, int]:
    """Bytes that this process has sent and received by the TCP connections that it has now."""
    sent = received = 0
    for entry in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry))) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                acknowledged, arrived = struct.unpack_from("QQ", info, 120)
                sent, received = sent + acknowledged, received + arrived
        except OSError:  # closed since, or no connection
            continue
    return sent, received


def resident_memory() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve_steps(
    modes: Mapping[str, Callable[[], object]],
    parameters: Callable[[str], Mapping[str, np.ndarray]],
    collectives: Callable[[str], Any] = lambda mode: None,
) -> None:
    """Answers lines from stdin with JSON: ``mode<tab>calls`` with the seconds of a step (the mean)
    and the bytes sent and received in all of them, ``memory`` with the bytes in memory,
    ``parameters<tab>mode<tab>file`` after storing them, ``collectives<tab>mode``."""
    for line in sys.stdin:
        command, *arguments = line.rstrip("\n").split("\t")
        answer: Any = None
        if command == "memory":
            answer = resident_memory()
        elif command == "parameters":
            np.savez(arguments[1], **parameters(arguments[0]))
        elif command == "collectives":
            answer = collectives(arguments[0])
        else:
            calls, before = int(arguments[0]), socket_bytes()
            start = time.perf_counter()
            for _ in range(calls):
                modes[command]()
            seconds = (time.perf_counter() - start) / calls
            sent, received = (b - a for a, b in zip(before, socket_bytes(), strict=True))
            answer = {"seconds": seconds, "sent": sent, "received": received}
        print(ANSWER + json.dumps(answer), flush=True)
