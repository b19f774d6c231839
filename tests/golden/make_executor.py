"""Runs the executor scripts under the real MXNet 1.9.1 and stores what they see as JSON.

    python tests/golden/make_executor.py

Runs under MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Else MXNet rewrites graphs that are bound without gradients, and monitors see other names.
os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parent))
import executor_scripts

ANSWERS = Path(__file__).parent / "data" / "executor.json"


def main() -> None:
    answers = {}
    for name in executor_scripts.SCRIPTS:
        print(name, flush=True)
        answers[name] = executor_scripts.run(name, mx)
    text = json.dumps(answers, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{len(answers)} scripts, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
