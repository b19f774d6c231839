"""One script of the collections in ``tests/golden`` in a fresh process, for either package.

python -m benchmarks._example_script PACKAGE COLLECTION SCRIPT

Prints JSON: the seconds of the import of the package, and those of the script after it. Imports
neither mxnet nor jax nor executorkit.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from typing import Any

#: Collections of scripts: modules with ``SCRIPTS`` and ``run``.
COLLECTIONS = ("example_scripts", "numpy_scripts")


def main(package: str, collection: str, script: str) -> None:
    warnings.simplefilter("ignore")
    scripts: Any = importlib.import_module(f"tests.golden.{collection}")
    start = time.perf_counter()
    mx: Any = importlib.import_module(package)
    imported = time.perf_counter()
    # What scripts print goes with the standard error.
    answers = os.dup(1)
    os.dup2(2, 1)
    scripts.run(script, mx)
    mx.nd.waitall()
    seconds = {"import": imported - start, "script": time.perf_counter() - imported}
    os.write(answers, json.dumps(seconds).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
