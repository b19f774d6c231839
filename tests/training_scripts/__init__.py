"""Training scripts as MXNet's users write them, run here with one line changed: the import.

Each has ``main(ctx)``, which trains on one context or several and returns the reached value and the
losses of the first steps. First values of parameters depend on their names alone.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("mlp", "lenet", "language_model", "matrix_factorisation", "two_heads")
_IMPORT = "import mxnet as mx\n"


def run(name: str, devices: int, module: str = "mxnet") -> Any:
    """The result of a script with ``module`` in the place of mxnet, on ``devices`` CPU contexts."""
    path = Path(__file__).parent / f"{name}.py"
    source = path.read_text()
    if source.count(_IMPORT) != 1:
        raise ValueError(f"{path} does not have the line {_IMPORT!r} once")
    names: dict[str, Any] = {"__name__": f"{__name__}.{name}", "__file__": str(path)}
    exec(compile(source.replace(_IMPORT, f"import {module} as mx\n"), path, "exec"), names)
    mx = names["mx"]
    for seed in (mx.random.seed, np.random.seed, random.seed):
        seed(1)
    with mx.name.NameManager():
        return names["main"]([mx.cpu(i) for i in range(devices)])
