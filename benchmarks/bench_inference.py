"""Inference of one picture, beside the whole program without prepared arrays and beside MXNet.

python -m benchmarks.bench_inference [--mxnet PYTHON] [--batch N] [--only NAMES] [--seconds S]

Calls of all of them alternate; printed are the minima of their times, and the ratios of these:
above 1, prepared inference is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax

import executorkit as mx

from ._networks import network
from ._workers import Worker, checksum, timed

#: Networks by name, with the side of their pictures in pixels.
NETWORKS = {
    "resnet18": 224, "resnet50": 224, "iresnet18": 112, "mobilenet": 224, "mobilenet_v2": 224,
    "squeezenet": 224, "vgg16": 224, "inception_v3": 299,
}  # fmt: skip
#: Calls before the first measurement: enough for everything to be compiled and prepared.
WARM_CALLS = 16


def _inference(name: str, batch: int, size: int, **options: Any) -> Any:
    """A call of inference of a network with new data, computed to its end."""
    net = network(name, batch, size)
    with mx.program.options(**options):
        executor = net.filled(mx, net.build(mx))
    data = {n: mx.nd.array(v) for n, v in net.inputs().items() if n == "data"}

    def run() -> Any:
        executor.forward(is_train=False, **data)
        return jax.block_until_ready(executor.outputs[0].jax)

    for _ in range(WARM_CALLS):
        run()
    return run, executor


def compare(name: str, batch: int, size: int, mxnet: str | None, seconds: float) -> dict[str, Any]:
    """Milliseconds of each, and what was prepared."""
    ours, executor = _inference(name, batch, size)
    whole, _ = _inference(name, batch, size, prepare=False)
    calls: dict[str, Callable[[], float]] = {
        "prepared": lambda: timed(ours), "whole": lambda: timed(whole),
    }  # fmt: skip
    if abs(checksum(ours()) - checksum(whole())) > 1e-3:
        raise RuntimeError(f"{name}: prepared inference computes something else")
    worker = None
    if mxnet:
        worker = Worker(mxnet, "benchmarks._oracle", "mxnet", name, str(batch), str(size))
        calls["mxnet"] = lambda: worker.seconds("forward")
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for title, call in calls.items():
            call()
            best[title] = min(best[title], call())
            if title == "mxnet":
                time.sleep(0.25)  # its threads look for work for a while
    if worker is not None:
        worker.end()
    megabytes = executor.program.prepared_bytes / 2**20
    return {"milliseconds": {k: 1e3 * t for k, t in best.items()}, "megabytes": megabytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mxnet", metavar="PYTHON")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(NETWORKS))
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    print(
        f"{'network':14} {'prepared':>9} {'whole':>9} {'ratio':>6} {'MXNet':>9} {'ratio':>6}   MiB"
    )
    for name in options.only:
        result = compare(name, options.batch, NETWORKS[name], options.mxnet, options.seconds)
        times = result["milliseconds"]
        ours = times["prepared"]
        columns = [f"{name:14} {ours:9.2f}"]
        for title in ("whole", "mxnet"):
            theirs = times.get(title)
            columns.append(f"{theirs:9.2f} {theirs / ours:6.2f}" if theirs else " " * 16)
        print(*columns, f"{result['megabytes']:5.0f}", flush=True)


if __name__ == "__main__":
    main()
