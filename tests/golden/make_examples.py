"""Runs the example programs under the real MXNet 1.9.1 and stores what they see as JSON.

    python tests/golden/make_examples.py [script ...]

Runs under MXNet's environment (see ``make.py``), never under the project's. With names only those
scripts run, and the others' stored answers stay.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Else an executor that is bound without gradients keeps weights that are overwritten later.
os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import example_scripts

ANSWERS = Path(__file__).parent / "data" / "examples.json"


def main(names: list[str]) -> None:
    answers = json.loads(ANSWERS.read_text()) if names else {}
    for name in names or example_scripts.SCRIPTS:
        print(name, flush=True)
        answers[name] = example_scripts.run(name, mx)
    ordered = {name: answers[name] for name in example_scripts.SCRIPTS if name in answers}
    text = json.dumps(ordered, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{len(ordered)} scripts, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
