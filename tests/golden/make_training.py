"""Runs the training scripts under the real MXNet 1.9.1 and stores what they reach as JSON.

    python tests/golden/make_training.py [script ...]

Runs under MXNet's environment (see ``make.py``), never under the project's. With names only those
scripts run, and the others' stored answers stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests import training_scripts

ANSWERS = Path(__file__).parent / "data" / "training.json"


def main(names: list[str]) -> None:
    answers = json.loads(ANSWERS.read_text()) if names else {}
    for name in names or training_scripts.NAMES:
        answers[name] = {str(n): training_scripts.run(name, n) for n in (1, 2)}
        print(name, {n: answer["reached"] for n, answer in answers[name].items()}, flush=True)
    ordered = {name: answers[name] for name in training_scripts.NAMES}
    text = json.dumps(ordered, separators=(",", ":"))
    ANSWERS.write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
