"""A model that ``executorkit.onnx`` has written, in ONNX Runtime: a worker of ``_workers``.

python -m benchmarks._onnx_model FILE NETWORK BATCH SIZE
"""

from __future__ import annotations

import sys
import time
from typing import Any

import onnxruntime

from ._networks import network
from ._workers import serve


def main(path: str, name: str, batch: str, size: str) -> None:
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    contents = network(name, int(batch), int(size)).inputs()
    inputs = {i.name: contents[i.name] for i in session.get_inputs()}

    def forward() -> Any:
        return session.run(None, inputs)[0]

    serve({"forward": forward, "read": forward}, time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
