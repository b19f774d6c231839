"""Each node of a training step: its work, its time, and the time that the machine needs at least.

The limit of a node is that of its operations at the rate of a large product of matrices, or of its
bytes at the rate of a large copy, whichever is longer. Bytes are counted before fusion, so that a
node which fuses with others may take less time than its limit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import executorkit as mx
from executorkit.display import count, scaled, text_table

from ._measure import Ours
from ._networks import Network

#: Number of steps that are recorded.
_STEPS = 5


def roofline(net: Network, rows: int = 40) -> str:
    """Returns the table of a network's nodes, the one farthest above its limit first."""
    side = Ours(net)
    for _ in range(2):
        jax.block_until_ready(side.step())
    seconds = _recorded(side.step)
    flops, bandwidth = _rates()
    lines = []
    for node in side.executor.program.cost("forward_backward_train"):
        parts = ((node.forward, node.name), (node.backward, f"{node.name}_backward"))
        for work, name in parts:
            limit = max(work.flops / flops, work.bytes / bandwidth)
            lines.append((seconds.pop(name, 0.0), limit, name, node.op, work))
    lines += [(spent, 0.0, name, "", None) for name, spent in seconds.items()]
    lines.sort(key=lambda line: line[1] - line[0])
    cells = [
        [name, op, *(("", "") if work is None else (count(work.flops), _bytes(work.bytes))),
         f"{spent * 1e3:.2f}", f"{limit * 1e3:.2f}"]
        for spent, limit, name, op, work in lines[:rows]
    ]  # fmt: skip
    totals = (f"{sum(line[k] for line in lines) * 1e3:.1f}" for k in (0, 1))
    header = ["node", "operator", "FLOPs", "bytes", "ms", "limit, ms"]
    title = f"{flops * 1e-9:.0f} GFLOP/s, {bandwidth * 1e-9:.0f} GB/s; means of {_STEPS} steps"
    table = text_table(header, cells, right=range(2, 6), footer=["sum", "", "", "", *totals])
    return f"{title}\n\n{table}"


def _bytes(number: float) -> str:
    return scaled(number, "B", 1024)


def _recorded(step: Callable[[], Any]) -> dict[str, float]:
    """Seconds of each node's kernels in a step."""
    mx.profiler.set_config(aggregate_stats=True)
    mx.profiler.set_state("run")
    for _ in range(_STEPS):
        jax.block_until_ready(step())
    mx.profiler.set_state("stop")
    kernels = json.loads(mx.profiler.dumps(format="json"))["Time"].get("operator", {})
    return {name: times["Total"] / 1e3 / _STEPS for name, times in kernels.items()}


def _rates() -> tuple[float, float]:
    """Operations per second of a product of matrices, and bytes per second of a copy."""
    matrix, array = jnp.ones((2048, 2048)), jnp.ones(2**25)
    product = jax.jit(jnp.matmul).lower(matrix, matrix).compile()
    copy = jax.jit(lambda x: x + 1).lower(array).compile()
    return (
        2 * 2048**3 / _fastest(lambda: product(matrix, matrix)),
        2 * array.nbytes / _fastest(lambda: copy(array)),
    )


def _fastest(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(30):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return min(times)
