"""Asks the real MXNet 1.9.1 how many head gradients ``backward`` needs, for every golden case.

    python tests/golden/make_heads.py

Each input alone wants a gradient; then ``backward`` is called with ever more head gradients, those
of the first outputs. The answer is the smallest number that MXNet takes: 0 for a loss. Runs under
MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from make import create, families

ANSWERS = Path(__file__).parent / "data" / "heads.json"


def needed(mx: Any, case: Any, name: str) -> int:
    """The smallest number of head gradients with which ``backward`` runs."""
    inputs = case.arrays(case.dtype)
    arrays = {n: mx.nd.array(a, dtype=a.dtype) for n, a in inputs.items()}
    sym = create(mx, case.op, inputs, dict(case.attrs))
    exe = sym.bind(
        mx.cpu(),
        [arrays[n] for n in sym.list_arguments()],
        args_grad={name: mx.nd.zeros(inputs[name].shape, dtype=inputs[name].dtype)},
        grad_req={name: "write"},
        aux_states=[arrays[n] for n in sym.list_auxiliary_states()],
    )
    heads = [mx.nd.ones(o.shape, dtype=o.dtype) for o in exe.forward(is_train=True)]
    exe.backward(heads)
    mx.nd.waitall()
    for enough in range(len(heads)):
        try:
            exe.backward(heads[:enough] or None)
            mx.nd.waitall()
            return enough
        except Exception:
            continue
    return len(heads)


def make(family: str, report: Path) -> None:
    """Appends one line per question: before it is asked its name, then the answer."""
    import mxnet as mx

    done = {json.loads(s)[0] for s in report.read_text().splitlines()} if report.exists() else set()
    with report.open("a") as lines:
        for case in importlib.import_module(f"cases.{family}").CASES:
            for name in case.compared(case.dtype):
                key = f"{family}:{case.name}:{name}"
                if key in done:
                    continue
                print(json.dumps([key, None]), file=lines, flush=True)
                try:
                    answer = needed(mx, case, name)
                except Exception:
                    continue
                print(json.dumps([key, answer]), file=lines, flush=True)


def main() -> None:
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for family in families():
            report = Path(folder) / family
            while subprocess.run([sys.executable, __file__, family, str(report)]).returncode < 0:
                continue
            answers.update(json.loads(s) for s in report.read_text().splitlines())
    answers = {key: answer for key, answer in answers.items() if answer is not None}
    ANSWERS.write_text(json.dumps(answers, separators=(",", ":")).replace(',"', ',\n"') + "\n")
    print(f"{len(answers)} answers, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    if sys.argv[1:]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        make(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
