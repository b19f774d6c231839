"""Runs the scripts on training tools under the real MXNet 1.9.1 and stores what they see as JSON.

    python tests/golden/make_training_tools.py

Runs under MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import training_scripts

ANSWERS = Path(__file__).parent / "data" / "training_tools.json"


def main() -> None:
    answers = {name: training_scripts.run(name, mx) for name in training_scripts.SCRIPTS}
    text = json.dumps(answers, separators=(",", ":"))
    ANSWERS.write_text(text.replace('},"', '},\n"') + "\n")
    print(f"{len(answers)} scripts, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
