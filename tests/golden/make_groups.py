"""Runs the scripts on groups under the real MXNet 1.9.1 and stores what they see as JSON.

    python tests/golden/make_groups.py

Runs under MXNet's environment (see ``make.py``), never under the project's. Slices of many batches
are stored too; null where MXNet refuses the batch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import group_scripts

ANSWERS = Path(__file__).parent / "data" / "groups.json"
WORKLOADS = (
    [1], [1, 1], [1] * 3, [1] * 4, [1] * 5, [1] * 8, [1, 2, 1], [0.5, 1.5], [3, 1], [1, 3],
    [10, 1], [1, 1, 2, 4], [0.3, 0.3, 0.4], [2, 3, 5, 7],
)  # fmt: skip


def slices() -> list[list]:
    all_slices = []
    for loads in WORKLOADS:
        for rows in range(1, 65):
            try:
                cut = mx.executor_manager._split_input_slice(rows, loads)
            except ValueError:
                cut = None
            all_slices.append(
                [rows, loads, None if cut is None else [[s.start, s.stop] for s in cut]]
            )
    return all_slices


def main() -> None:
    answers = {}
    for name in group_scripts.SCRIPTS:
        print(name, flush=True)
        answers[name] = group_scripts.run(name, mx)
    text = json.dumps({"scripts": answers, "slices": slices()}, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{len(answers)} scripts, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
