"""Runs the scripts on modules under the real MXNet 1.9.1 and stores what they see as JSON.

    python tests/golden/make_modules.py [script ...]

Runs under MXNet's environment (see ``make.py``), never under the project's. With names only those
scripts run, and the others' stored answers stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import module_scripts

ANSWERS = Path(__file__).parent / "data" / "modules.json"


def main(names: list[str]) -> None:
    answers = json.loads(ANSWERS.read_text()) if names else {}
    for name in names or module_scripts.SCRIPTS:
        print(name, flush=True)
        answers[name] = module_scripts.run(name, mx)
    ordered = {name: answers[name] for name in module_scripts.SCRIPTS}
    text = json.dumps(ordered, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{len(ordered)} scripts, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
