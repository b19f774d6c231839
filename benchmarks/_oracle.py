"""MXNet's side of a comparison, in a process of its own: started by ``_measure``, with MXNet's
Python. Prints the seconds of bind and first calls as JSON, then one time per line that it reads.
"""

from __future__ import annotations

import json
import sys
import time

import mxnet as mx

from ._networks import network


def main(name: str, batch: str, size: str) -> None:
    net = network(name, int(batch), int(size))
    symbol = net.build(mx)
    start = time.perf_counter()
    executor = net.bind(mx, symbol)
    mx.nd.waitall()
    bind = time.perf_counter() - start
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
    data = {n: v for n, v in inputs.items() if not n.endswith("label")}

    def forward() -> None:
        executor.forward(is_train=False, **data)
        mx.nd.waitall()

    def step() -> None:
        executor.forward(is_train=True, **inputs)
        executor.backward()
        mx.nd.waitall()

    def seconds(function) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    modes = {"forward": forward, "step": step}
    first = {mode: seconds(function) for mode, function in modes.items()}
    print(json.dumps({"bind": bind, **first}), flush=True)
    for line in sys.stdin:
        print(seconds(modes[line.strip()]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
