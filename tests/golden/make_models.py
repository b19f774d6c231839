"""Runs the networks of ``tests/models`` under MXNet 1.9.1 and stores samples of the results.

    python tests/golden/make_models.py [model ...]

Under the same environment as ``make.py``. Naming models leaves the others' results untouched.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"  # plain operators, nothing fused

import mxnet as mx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import _store
from tests.models import MODELS, Model


def run(model: Model) -> dict[str, np.ndarray]:
    """Outputs, and for a training step gradients and new states."""
    exe = model.bind(mx, model.build(mx))
    outs = exe.forward(is_train=model.train)
    results = {f"out{i}": o.asnumpy() for i, o in enumerate(outs)}
    if model.train:
        exe.backward()
        results.update(
            {f"grad:{n}": g.asnumpy() for n, g in exe.grad_dict.items() if g is not None}
        )
        results.update({f"aux:{n}": a.asnumpy() for n, a in exe.aux_dict.items()})
    return results


def main(names: list[str]) -> None:
    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    if (_store.DATA / "models.npz").exists():
        old = _store.Answers("models")
        facts = {n: f for n, f in old.facts.items() if n in MODELS and n not in names}
        arrays = {f"{n}|{k}": old[f"{n}|{k}"] for n, f in facts.items() for k in f["arrays"]}
    for name in names:
        start = time.perf_counter()
        results = run(MODELS[name])
        facts[name] = {"arrays": {k: [list(a.shape), a.dtype.name] for k, a in results.items()}}
        arrays.update({f"{name}|{k}": _store.condense_network(k, a) for k, a in results.items()})
        head = results["out0"].reshape(-1)
        print(
            f"{name}: {len(results)} arrays, {time.perf_counter() - start:.1f} s, "
            f"out0 {head[:4]}, largest gradients "
            f"{max((abs(a).max() for k, a in results.items() if k[:4] == 'grad'), default=0):.3g}"
        )
    path = _store.save("models", arrays, facts)
    print(f"{path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
