"""Reading a file of images, for either package: a worker of ``_workers``.

python -m benchmarks._image_records PACKAGE FILE THREADS
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from ._workers import serve

BATCH = 32
#: Keywords of ImageRecordIter besides the file and the crop.
MODES: dict[str, dict[str, Any]] = {
    "centre crops": {},
    "random crops, mirrored, normalised": {
        "rand_crop": True,
        "rand_mirror": True,
        "shuffle": True,
        "mean_r": 123.68,
        "mean_g": 116.78,
        "mean_b": 103.94,
        "std_r": 58.4,
        "std_g": 57.12,
        "std_b": 57.38,
    },
    "uint8": {"dtype": "uint8"},
}


def readers(mx: Any, path: str, threads: int, size: int = 224) -> dict[str, Callable[[], Any]]:
    """A function per mode that reads all images of a file once and returns the last batch."""

    def reader(options: dict[str, Any]) -> Callable[[], Any]:
        batches = mx.io.ImageRecordIter(
            path_imgrec=path, data_shape=(3, size, size), batch_size=BATCH,
            preprocess_threads=threads, verbose=False, **options,
        )  # fmt: skip

        def read() -> Any:
            batches.reset()
            for batch in batches:
                batch.data[0].wait_to_read()
                batch.label[0].wait_to_read()
                last = batch
            return last.data[0].asnumpy()

        return read

    return {name: reader(options) for name, options in MODES.items()}


def main(package: str, path: str, threads: str) -> None:
    serve(readers(importlib.import_module(package), path, int(threads)), 0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
