"""A network under MXNet or executorkit in a separate process: a worker of ``_workers``.

python -m benchmarks._oracle PACKAGE NETWORK BATCH SIZE [MODE]

With a mode only that one is called: its first answer is bind and first call of a fresh process.
executorkit stores compiled programs in the directory that the environment variable
DISK_CACHE_DIRECTORY names.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any

from ._networks import fill, network
from ._workers import serve

#: Environment variable that names the directory of executorkit's disk cache.
DISK_CACHE = "DISK_CACHE_DIRECTORY"


def main(package: str, name: str, batch: str, size: str, *only: str) -> None:
    mx: Any = importlib.import_module(package)
    if package == "executorkit" and DISK_CACHE in os.environ:
        mx.program.enable_disk_cache(os.environ[DISK_CACHE])
    net = network(name, int(batch), int(size))
    symbol = net.build(mx)
    mx.nd.ones(1).copy().asnumpy()  # starts the library
    start = time.perf_counter()
    executor = net.bind(mx, symbol)
    bind = time.perf_counter() - start
    values = net.values(executor)
    start = time.perf_counter()
    fill(values)
    mx.nd.waitall()
    bind += time.perf_counter() - start
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}
    data = {n: v for n, v in inputs.items() if not n.endswith("label")}

    def forward() -> None:
        executor.forward(is_train=False, **data)
        mx.nd.waitall()

    def read() -> Any:
        return executor.forward(is_train=False)[0].asnumpy()

    def step() -> None:
        executor.forward(is_train=True, **inputs)
        executor.backward()
        mx.nd.waitall()

    modes = {"forward": forward, "read": read, "step": step}
    if not net.trained:
        del modes["step"]
    serve(modes, bind, only)


if __name__ == "__main__":
    main(*sys.argv[1:])
