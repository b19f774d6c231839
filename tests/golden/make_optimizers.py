"""Stores what MXNet 1.9.1 makes of ``cases/_optimizers.py``: trajectories, schedules, states.

    python tests/golden/make_optimizers.py

Runs under MXNet's environment (see ``make.py``), never under the project's. Writes
``data/optimizers.npz`` (trajectories; rates, attributes and errors as facts) and, for reading its
pickles, ``data/optimizer_*.states``.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parent))
import _store
from cases import _optimizers

#: Runs whose updater is stored, with its optimizer or without.
STATES = {
    "sgd": ("sgd_momentum|mixed", True),
    "adam": ("adam|factor", True),
    "nadam": ("nadam|named", True),
    "rmsprop": ("rmsprop_centered|", False),
    "none": ("sgd|", False),
}


def error_of(function):
    try:
        function(mx)
    except BaseException as error:
        return type(error).__name__
    raise SystemExit(f"{function} raises nothing")


def signatures():
    """Parameters and defaults of every class, and the public names of the module."""
    classes = {
        name: [
            [p.name, None if p.default is inspect.Parameter.empty else repr(p.default)]
            for p in inspect.signature(klass).parameters.values()
        ]
        for name, klass in sorted(mx.optimizer.Optimizer.opt_registry.items())
    }
    return classes, sorted(mx.optimizer.__all__)


def main():
    arrays, counts, failed = {}, {}, {}
    for key, case in _optimizers.RUNS.items():
        try:
            trajectory, counts[key] = _optimizers.run(mx, case)
        except Exception as error:
            failed[key] = type(error).__name__
            print(key, type(error).__name__, str(error).splitlines()[0][:100], flush=True)
        else:
            arrays[key] = _optimizers.joined(trajectory)
    rates, attributes = _optimizers.schedules(mx)
    classes, names = signatures()
    facts = {
        "failed": failed,
        "counts": counts,
        "rates": rates,
        "attributes": attributes,
        "errors": {name: error_of(f) for name, f in _optimizers.ERRORS.items()},
        "classes": classes,
        "names": names,
    }
    path = _store.save("optimizers", arrays, facts)
    print(f"{len(arrays)} arrays, {path.stat().st_size // 1024} KiB")
    for name, (key, with_optimizer) in STATES.items():
        case = _optimizers.RUNS[key]
        data = _optimizers.states(mx, case, with_optimizer)
        (_store.DATA / f"optimizer_{name}.states").write_bytes(data)


if __name__ == "__main__":
    main()
