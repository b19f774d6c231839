"""One work of bench_cold in a fresh process; prints its seconds, once the library is imported.

python -m benchmarks._cold_work PACKAGE TITLE REPETITIONS
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from typing import Any

import numpy as np

from ._known_shapes import KNOWN_WORKS
from ._new_shapes import NEW_WORKS
from ._small_scripts import SCRIPTS


def main(package: str, title: str, repetitions: str) -> None:
    warnings.simplefilter("ignore")
    mx: Any = importlib.import_module(package)
    np.random.seed(0)
    mx.random.seed(0)
    mx.nd.ones(1).copy().asnumpy()  # starts the library
    works = {**NEW_WORKS, **KNOWN_WORKS}
    if title in works:
        seconds = works[title](mx, int(repetitions))
    else:
        start = time.perf_counter()
        result = SCRIPTS[title](mx)
        seconds = time.perf_counter() - start
        if not np.isfinite(result):
            raise RuntimeError(f"{title}: computed {result}")
    print(seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
