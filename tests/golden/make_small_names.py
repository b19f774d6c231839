"""Asks the real MXNet 1.9.1 about small names that scripts use, and stores its answers as JSON.

    python tests/golden/make_small_names.py

Runs under MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx
import mxnet.misc
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import small_name_questions as sq

ANSWERS = Path(__file__).parent / "data" / "small_names.json"


def main() -> None:
    answers = {theme: {q: sq.ask(q, mx, np) for q in sq.questions(theme)} for theme in sq.THEMES}
    ANSWERS.write_text(json.dumps(answers, separators=(",", ":")).replace('],"', '],\n"') + "\n")
    print(f"{sum(map(len, answers.values()))} answers, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
